import torch
import torch.nn as nn


def block(inputs, outputs, stride, expand_ratio):
    hidden = inputs * expand_ratio
    return nn.Sequential(
        nn.Conv2d(inputs, hidden, 1, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU(),
        nn.Conv2d(hidden, hidden, 3, stride=stride, padding=1, groups=hidden, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Conv2d(hidden, hidden // 4, 1, bias=False),
        nn.ReLU(),
        nn.Conv2d(hidden // 4, hidden, 1, bias=False),
        nn.Sigmoid(),
        nn.Conv2d(hidden, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


class Model(nn.Module):
    """A convolutional classifier of five blocks that each end in a mean over all pixels.

    f = relu(bn(conv1x1(b_5(... b_1(relu(bn(conv3x3(x)))))))), y = fc(f);
    b(x) = bn(U sigmoid(V relu(W m))), m = mean over pixels of relu(bn(depthwise3x3(relu(bn(conv1x1(x))))));
    bn by the statistics of the batch
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.mbconv1 = block(32, 96, 1, 3)
        self.mbconv2 = block(96, 144, 2, 6)
        self.mbconv3 = block(144, 192, 2, 6)
        self.mbconv4 = block(192, 288, 2, 6)
        self.mbconv5 = block(288, 384, 1, 6)
        self.conv_final = nn.Conv2d(384, 1408, 1, bias=False)
        self.bn_final = nn.BatchNorm2d(1408)
        self.fc = nn.Linear(1408, num_classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.mbconv5(self.mbconv4(self.mbconv3(self.mbconv2(self.mbconv1(x)))))
        return self.fc(torch.relu(self.bn_final(self.conv_final(x))).mean(dim=(2, 3)))


batch_size = 2
num_classes = 1000
in_channels = 3
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [num_classes]
