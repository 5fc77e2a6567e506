import torch
import torch.nn as nn


class Model(nn.Module):
    """A multilayer perceptron with two hidden layers that are wider than its input.

    h_0 = x, h_l = relu(W_l h_(l-1) + b_l) for every hidden layer l, y = W h_last + b
    """

    def __init__(self, input_size, hidden_layer_sizes, output_size):
        super().__init__()
        layers = []
        width = input_size
        for hidden in hidden_layer_sizes:
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        self.network = nn.Sequential(*layers, nn.Linear(width, output_size))

    def forward(self, x):
        return self.network(x)


batch_size = 128
input_size = 16384
hidden_layer_sizes_0 = 32768
hidden_layer_sizes_1 = 32768
hidden_layer_sizes = [hidden_layer_sizes_0, hidden_layer_sizes_1]
output_size = 16384


def get_inputs():
    return [torch.rand(batch_size, input_size)]


def get_init_inputs():
    return [input_size, hidden_layer_sizes, output_size]
