import torch
import torch.nn as nn


class ShuffleNetUnit(nn.Module):
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


class Model(nn.Module):
    """A convolutional classifier of thirteen units of grouped convolutions with channels shuffled between the groups.

    f = relu(bn(conv1x1(u_13(... u_1(pool(relu(bn(conv3x3(x))))))))), pool = max of 3 x 3, every other pixel;
    u(x) = relu(bn(grouped(shuffle(bn(depthwise3x3(relu(bn(grouped(x))))))))) + skip(x), skip(x) = x or bn(conv1x1(x));
    y = fc(mean over pixels of f), bn by the statistics of the batch
    """

    def __init__(self, num_classes=1000, groups=3, stages_repeats=(3, 7, 3), stages_out_channels=(24, 240, 480, 960)):
        super().__init__()
        first, *widths = stages_out_channels
        self.conv1 = nn.Conv2d(3, first, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.stage2, self.stage3, self.stage4 = (
            nn.Sequential(
                ShuffleNetUnit(before, width, groups), *(ShuffleNetUnit(width, width, groups) for _ in range(repeats - 1))
            )
            for before, width, repeats in zip(stages_out_channels[:-1], widths, stages_repeats, strict=True)
        )
        self.conv5 = nn.Conv2d(widths[-1], 1024, 1, bias=False)
        self.bn5 = nn.BatchNorm2d(1024)
        self.fc = nn.Linear(1024, num_classes)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        x = self.stage4(self.stage3(self.stage2(x)))
        return self.fc(torch.relu(self.bn5(self.conv5(x))).mean(dim=(2, 3)))


batch_size = 10
input_channels = 3
height = 224
width = 224
num_classes = 1000


def get_inputs():
    return [torch.rand(batch_size, input_channels, height, width)]


def get_init_inputs():
    return [num_classes]
