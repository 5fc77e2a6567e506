import torch
import torch.nn as nn


class Model(nn.Module):
    """An inverted bottleneck: to more channels, a convolution of each channel alone, and back to fewer.

    y = bn(conv1x1(relu6(bn(depthwise(relu6(bn(conv1x1(x)))))))), plus x where shapes agree;
    relu6(a) = min(max(a, 0), 6), bn by the statistics of the batch
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, expand_ratio):
        super().__init__()
        self.use_residual = stride == 1 and in_channels == out_channels
        hidden = in_channels * expand_ratio
        if expand_ratio != 1:
            self.expand_conv = nn.Sequential(nn.Conv2d(in_channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6())
        self.depthwise_conv = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel_size, stride=stride, padding=(kernel_size - 1) // 2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
        )
        self.project_conv = nn.Sequential(nn.Conv2d(hidden, out_channels, 1, bias=False), nn.BatchNorm2d(out_channels))

    def forward(self, x):
        y = self.expand_conv(x) if hasattr(self, "expand_conv") else x
        y = self.project_conv(self.depthwise_conv(y))
        return y + x if self.use_residual else y


batch_size = 10
in_channels = 112
out_channels = 192
kernel_size = 5
stride = 2
expand_ratio = 6
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, expand_ratio]
