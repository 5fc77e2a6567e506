import torch
import torch.nn as nn


def convolution(inputs, outputs, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


def separable(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, inputs, 3, stride=stride, padding=1, groups=inputs, bias=False),
        nn.BatchNorm2d(inputs),
        nn.ReLU(),
        nn.Conv2d(inputs, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class Model(nn.Module):
    """A convolutional classifier of thirteen depthwise convolutions, each with a 1x1 convolution after it.

    f = s_13(... s_1(relu(bn(conv3x3(x))))), s(x) = relu(bn(conv1x1(relu(bn(depthwise3x3(x))))));
    y = fc(mean of 7 x 7 pixels of f), bn by the statistics of the batch
    """

    def __init__(self, num_classes=1000, input_channels=3, alpha=1.0):
        super().__init__()
        plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
        width = int(32 * alpha)
        blocks = [convolution(input_channels, width, 2)]
        for channels, stride in plan:
            blocks.append(separable(width, int(channels * alpha), stride))
            width = int(channels * alpha)
        self.model = nn.Sequential(*blocks, nn.AvgPool2d(7))
        self.fc = nn.Linear(width, num_classes)

    def forward(self, x):
        return self.fc(self.model(x).flatten(1))


batch_size = 10
input_channels = 3
height = 224
width = 224
num_classes = 1000
alpha = 1.0


def get_inputs():
    return [torch.rand(batch_size, input_channels, height, width)]


def get_init_inputs():
    return [num_classes, input_channels, alpha]
