import torch
import torch.nn as nn


def inverted_bottleneck(inputs, outputs, stride, expand_ratio):
    hidden = inputs * expand_ratio
    return nn.Sequential(
        nn.Conv2d(inputs, hidden, 1, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU6(),
        nn.Conv2d(hidden, hidden, 3, stride=stride, padding=1, groups=hidden, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU6(),
        nn.Conv2d(hidden, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


class Model(nn.Module):
    """A convolutional classifier of seven inverted bottlenecks without skip connections.

    f = relu(bn(conv1x1(b_7(... b_1(relu(bn(conv3x3(x)))))))), y = fc(mean over pixels of f);
    b(x) = bn(conv1x1(relu6(bn(depthwise3x3(relu6(bn(conv1x1(x)))))))), relu6(a) = min(max(a, 0), 6);
    bn by the statistics of the batch
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.mbconv1 = inverted_bottleneck(32, 16, 1, 1)
        self.mbconv2 = inverted_bottleneck(16, 24, 2, 6)
        self.mbconv3 = inverted_bottleneck(24, 40, 2, 6)
        self.mbconv4 = inverted_bottleneck(40, 80, 2, 6)
        self.mbconv5 = inverted_bottleneck(80, 112, 1, 6)
        self.mbconv6 = inverted_bottleneck(112, 192, 2, 6)
        self.mbconv7 = inverted_bottleneck(192, 320, 1, 6)
        self.conv2 = nn.Conv2d(320, 1280, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(1280)
        self.fc = nn.Linear(1280, num_classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.mbconv4(self.mbconv3(self.mbconv2(self.mbconv1(x))))
        x = self.mbconv7(self.mbconv6(self.mbconv5(x)))
        return self.fc(torch.relu(self.bn2(self.conv2(x))).mean(dim=(2, 3)))


batch_size = 10
in_channels = 3
height = 240
width = 240
input_shape = (in_channels, height, width)
num_classes = 1000


def get_inputs():
    return [torch.rand(batch_size, *input_shape)]


def get_init_inputs():
    return [num_classes]
