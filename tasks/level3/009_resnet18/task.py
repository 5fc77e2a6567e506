import torch
import torch.nn as nn


class BasicBlock(nn.Module):
    def __init__(self, in_channels, out_channels, stride, downsample):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample = downsample

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class Model(nn.Module):
    """A residual network of eight blocks of two convolutions that classifies images.

    f = pool(relu(bn(conv7x7(x)))), pool = max of 3 x 3, every other pixel; y = fc(mean over pixels of block_8(... block_1(f)));
    block(x) = relu(bn(conv3x3(relu(bn(conv3x3(x))))) + skip(x)), skip(x) = x or bn(conv1x1(x)); bn by the statistics of the batch
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self.layer(64, 64, 1)
        self.layer2 = self.layer(64, 128, 2)
        self.layer3 = self.layer(128, 256, 2)
        self.layer4 = self.layer(256, 512, 2)
        self.fc = nn.Linear(512, num_classes)

    @staticmethod
    def layer(in_channels, out_channels, stride):
        downsample = None
        if stride != 1:
            downsample = nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, stride, bias=False), nn.BatchNorm2d(out_channels))
        first = BasicBlock(in_channels, out_channels, stride, downsample)
        return nn.Sequential(first, BasicBlock(out_channels, out_channels, 1, None))

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean(dim=(2, 3)))


batch_size = 2
num_classes = 1000
in_channels = 3
height = 224
width = 224
input_shape = (batch_size, in_channels, height, width)


def get_inputs():
    return [torch.rand(input_shape)]


def get_init_inputs():
    return [num_classes]
