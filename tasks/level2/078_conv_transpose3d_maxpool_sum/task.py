import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution, max pooling by 2 and by 3, and the sum over channels.

    y[n, 0] = sum_o maxpool3(maxpool2(conv_transpose3d(x)))[n, o]
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.max_pool1 = nn.MaxPool3d(kernel_size=2)
        self.max_pool2 = nn.MaxPool3d(kernel_size=3)

    def forward(self, x):
        x = self.max_pool2(self.max_pool1(self.conv_transpose(x)))
        return torch.sum(x, dim=1, keepdim=True)


batch_size = 16
in_channels = 32
out_channels = 64
depth = 32
height = 32
width = 32
kernel_size = 5
stride = 2
padding = 2


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
