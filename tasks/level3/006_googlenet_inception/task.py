import torch
import torch.nn as nn


class Model(nn.Module):
    """Four branches over one image, side by side along the channels.

    y = [conv1x1(x), conv3x3(conv1x1(x)), conv5x5(conv1x1(x)), conv1x1(max pool 3x3(x))]
    """

    def __init__(self, in_channels, out_1x1, reduce_3x3, out_3x3, reduce_5x5, out_5x5, pool_proj):
        super().__init__()
        self.branch1x1 = nn.Conv2d(in_channels, out_1x1, 1)
        self.branch3x3 = nn.Sequential(nn.Conv2d(in_channels, reduce_3x3, 1), nn.Conv2d(reduce_3x3, out_3x3, 3, padding=1))
        self.branch5x5 = nn.Sequential(nn.Conv2d(in_channels, reduce_5x5, 1), nn.Conv2d(reduce_5x5, out_5x5, 5, padding=2))
        self.branch_pool = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), nn.Conv2d(in_channels, pool_proj, 1))

    def forward(self, x):
        return torch.cat([self.branch1x1(x), self.branch3x3(x), self.branch5x5(x), self.branch_pool(x)], dim=1)


in_channels = 480
out_1x1 = 192
reduce_3x3 = 96
out_3x3 = 208
reduce_5x5 = 16
out_5x5 = 48
pool_proj = 64
batch_size = 10
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_1x1, reduce_3x3, out_3x3, reduce_5x5, out_5x5, pool_proj]
