import torch
import torch.nn as nn


class Model(nn.Module):
    """First convolution of AlexNet: 11 x 11 kernels at every fourth place, with a bias.

    The argument num_classes is not used.

    y[n, o, h, w] = bias[o] + sum_{c in 0..2, i, j in 0..10} weight[o, c, i, j] x[n, c, 4h + i - 2, 4w + j - 2],
    0 beyond the border
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, kernel_size=11, stride=4, padding=2)

    def forward(self, x):
        return self.conv1(x)


batch_size = 256
num_classes = 1000
input_0 = 3
input_1 = 224
input_2 = 224


def get_inputs():
    return [torch.rand(batch_size, input_0, input_1, input_2)]


def get_init_inputs():
    return [num_classes]
