import torch
import torch.nn as nn


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, in_channels, out_channels, stride, downsample):
        super().__init__()
        wide = out_channels * self.expansion
        self.conv1 = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.conv3 = nn.Conv2d(out_channels, wide, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(wide)
        self.downsample = downsample

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class Model(nn.Module):
    """A residual network of blocks of three convolutions, in four stages, that classifies images.

    f = pool(relu(bn(conv7x7(x)))), pool = max of 3 x 3, every other pixel; y = fc(mean over pixels of block_n(... block_1(f)));
    block(x) = relu(bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(x)))))))) + skip(x)), skip(x) = x or bn(conv1x1(x));
    bn by the statistics of the batch
    """

    def __init__(self, layers, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self.layer(64, 64, layers[0], 1)
        self.layer2 = self.layer(256, 128, layers[1], 2)
        self.layer3 = self.layer(512, 256, layers[2], 2)
        self.layer4 = self.layer(1024, 512, layers[3], 2)
        self.fc = nn.Linear(2048, num_classes)

    @staticmethod
    def layer(in_channels, out_channels, blocks, stride):
        wide = out_channels * Bottleneck.expansion
        downsample = nn.Sequential(nn.Conv2d(in_channels, wide, 1, stride, bias=False), nn.BatchNorm2d(wide))
        first = Bottleneck(in_channels, out_channels, stride, downsample)
        return nn.Sequential(first, *(Bottleneck(wide, out_channels, 1, None) for _ in range(blocks - 1)))

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean(dim=(2, 3)))


batch_size = 10
height = 224
width = 224
layers_0 = 3
layers_1 = 4
layers_2 = 23
layers_3 = 3
layers = [layers_0, layers_1, layers_2, layers_3]
num_classes = 1000
in_channels = 3


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [layers, num_classes]
