import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution, its mean over each channel, a second bias, and ten times the log-sum-exp over the channels.

    y[n] = 10 log sum_c exp(mean_{h, w} conv_transpose2d(x)[n, c, h, w] + bias[c])
    """

    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        y = torch.mean(self.conv_transpose(x), dim=(2, 3), keepdim=True) + self.bias
        return torch.sum(torch.logsumexp(y, dim=1, keepdim=True), dim=(2, 3)) * 10.0


batch_size = 16
in_channels = 64
out_channels = 128
height = 512
width = 512
kernel_size = 3
bias_shape = (out_channels, 1, 1)


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, bias_shape]
