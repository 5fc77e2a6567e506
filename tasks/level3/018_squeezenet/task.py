import torch
import torch.nn as nn


class FireModule(nn.Module):
    def __init__(self, in_channels, squeeze_channels, expand1x1_channels, expand3x3_channels):
        super().__init__()
        self.squeeze = nn.Conv2d(in_channels, squeeze_channels, 1)
        self.expand1x1 = nn.Conv2d(squeeze_channels, expand1x1_channels, 1)
        self.expand3x3 = nn.Conv2d(squeeze_channels, expand3x3_channels, 3, padding=1)

    def forward(self, x):
        s = torch.relu(self.squeeze(x))
        return torch.relu(torch.cat([self.expand1x1(s), self.expand3x3(s)], dim=1))


class Model(nn.Module):
    """A convolutional classifier of eight modules that narrow the channels and widen them again.

    f = fire_8(pool(fire_7(fire_6(fire_5(fire_4(pool(fire_3(fire_2(fire_1(pool(relu(conv7x7(x)))))))))));
    fire(x) = [relu(conv1x1(s)), relu(conv3x3(s))], s = relu(conv1x1(x)); pool = max of 3 x 3, every other pixel;
    y = mean over pixels of relu(conv1x1(f))
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 96, 7, stride=2),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            FireModule(96, 16, 64, 64),
            FireModule(128, 16, 64, 64),
            FireModule(128, 32, 128, 128),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            FireModule(256, 32, 128, 128),
            FireModule(256, 48, 192, 192),
            FireModule(384, 48, 192, 192),
            FireModule(384, 64, 256, 256),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            FireModule(512, 64, 256, 256),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Conv2d(512, num_classes, 1))

    def forward(self, x):
        return torch.relu(self.classifier(self.features(x))).mean(dim=(2, 3))


batch_size = 64
input_channels = 3
height = 512
width = 512
num_classes = 1000


def get_inputs():
    return [torch.rand(batch_size, input_channels, height, width)]


def get_init_inputs():
    return [num_classes]
