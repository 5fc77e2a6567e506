import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Convolution, max pooling, log-sum-exp over the channels, and ReLU.

    y[n, d, h, w] = relu(log sum_c exp(max_pool3d(conv3d(x))[n, c, d, h, w]))
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size, stride, padding)

    def forward(self, x):
        y = F.max_pool3d(self.conv(x), kernel_size=2, stride=2)
        return torch.relu(torch.logsumexp(y, dim=1, keepdim=True))


batch_size = 4
in_channels = 32
out_channels = 64
depth = 32
height = 128
width = 128
kernel_size = 3
stride = 1
padding = 1


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
