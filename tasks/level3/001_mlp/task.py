import torch
import torch.nn as nn


class Model(nn.Module):
    """A multilayer perceptron with two hidden layers.

    h_0 = x, h_l = relu(W_l h_(l-1) + b_l) for every hidden layer l, y = W h_last + b
    """

    def __init__(self, input_size, layer_sizes, output_size):
        super().__init__()
        layers = []
        width = input_size
        for hidden in layer_sizes:
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        self.network = nn.Sequential(*layers, nn.Linear(width, output_size))

    def forward(self, x):
        return self.network(x)


batch_size = 128
input_size = 16384
layer_sizes_0 = 16384
layer_sizes_1 = 16384
layer_sizes = [layer_sizes_0, layer_sizes_1]
output_size = 8192


def get_inputs():
    return [torch.rand(batch_size, input_size)]


def get_init_inputs():
    return [input_size, layer_sizes, output_size]
