import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution, to which its own group normalization is added after tanh and HardSwish; then the logarithm of the sum of
    exponentials over channels.

    y = log sum_o exp(s + hardswish(tanh(groupnorm(s)))), s = conv2d(x)
    """

    def __init__(self, in_channels, out_channels, kernel_size, groups, eps=1e-5):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(groups, out_channels, eps=eps)
        self.tanh = nn.Tanh()
        self.hard_swish = nn.Hardswish()

    def forward(self, x):
        x = self.conv(x)
        x = x + self.hard_swish(self.tanh(self.group_norm(x)))
        return torch.logsumexp(x, dim=1, keepdim=True)


batch_size = 128
in_channels = 8
out_channels = 64
height = 128
width = 128
kernel_size = 3
groups = 16


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, groups]
