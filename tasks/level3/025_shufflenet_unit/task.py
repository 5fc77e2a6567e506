import torch
import torch.nn as nn


class Model(nn.Module):
    """Two grouped 1x1 convolutions about a depthwise one, with the channels of all groups mixed between them.

    y = relu(bn3(grouped(shuffle(bn2(depthwise(relu(bn1(grouped(x)))))))) + shortcut(x);
    shuffle: channel g C/G + c becomes channel c G + g; shortcut: x, or bn(conv1x1(x)); bn by the statistics of the batch
    """

    def __init__(self, in_channels, out_channels, groups=3):
        super().__init__()
        if out_channels % 4:
            raise ValueError(f"{out_channels} channels are no multiple of four")
        mid_channels = out_channels // 4
        self.groups = groups
        self.conv1 = nn.Conv2d(in_channels, mid_channels, 1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(mid_channels)
        self.conv2 = nn.Conv2d(mid_channels, mid_channels, 3, padding=1, groups=mid_channels, bias=False)
        self.bn2 = nn.BatchNorm2d(mid_channels)
        self.conv3 = nn.Conv2d(mid_channels, out_channels, 1, groups=groups, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.shortcut = nn.Sequential()
        if in_channels != out_channels:
            self.shortcut = nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, bias=False), nn.BatchNorm2d(out_channels))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y = y.unflatten(1, (self.groups, -1)).transpose(1, 2).flatten(1, 2)
        return torch.relu(self.bn3(self.conv3(y))) + self.shortcut(x)


batch_size = 10
input_channels = 240
out_channels = 480
groups = 3
height = 224
width = 224
num_classes = 1000


def get_inputs():
    return [torch.rand(batch_size, input_channels, height, width)]


def get_init_inputs():
    return [input_channels, out_channels, groups]
