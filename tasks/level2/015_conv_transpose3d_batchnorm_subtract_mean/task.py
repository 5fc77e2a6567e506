import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution, batch normalisation, minus the mean over each channel of each sample.

    y = z - mean_{d, h, w} z, z = batch_norm(conv_transpose3d(x)) with the statistics of the batch itself
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias=True):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding, bias=bias)
        self.batch_norm = nn.BatchNorm3d(out_channels)

    def forward(self, x):
        y = self.batch_norm(self.conv_transpose(x))
        return y - torch.mean(y, dim=(2, 3, 4), keepdim=True)


batch_size = 16
in_channels = 16
out_channels = 32
depth = 16
height = 32
width = 32
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
