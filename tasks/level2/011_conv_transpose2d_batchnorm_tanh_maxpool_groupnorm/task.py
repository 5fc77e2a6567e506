import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Transposed convolution, batch normalisation, the hyperbolic tangent, max pooling, and group normalisation.

    y = group_norm(max_pool2d(tanh(batch_norm(conv_transpose2d(x))))), statistics of the batch itself
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, groups, num_groups):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride, padding)
        self.batch_norm = nn.BatchNorm2d(out_channels)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        y = torch.tanh(self.batch_norm(self.conv_transpose(x)))
        return self.group_norm(F.max_pool2d(y, kernel_size=2, stride=2))


batch_size = 512
in_channels = 64
out_channels = 128
height = 32
width = 32
kernel_size = 5
stride = 1
padding = 1
groups = 8
num_groups = 8


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, groups, num_groups]
