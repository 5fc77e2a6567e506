import torch
import torch.nn as nn


def normed(inputs, outputs, kernel_size=1, stride=1, groups=1):
    convolution = nn.Conv2d(inputs, outputs, kernel_size, stride=stride, padding=kernel_size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(outputs)]


def inverted_bottleneck(inputs, outputs, stride, expand_ratio):
    hidden = inputs * expand_ratio
    expand = [] if expand_ratio == 1 else [*normed(inputs, hidden), nn.ReLU6()]
    return nn.Sequential(*expand, *normed(hidden, hidden, 3, stride, hidden), nn.ReLU6(), *normed(hidden, outputs))


class Model(nn.Module):
    """A convolutional classifier of seventeen inverted bottlenecks without skip connections.

    f = relu6(bn(conv1x1(b_17(... b_1(relu6(bn(conv3x3(x)))))))), y = linear(mean over pixels of f);
    b(x) = bn(conv1x1(relu6(bn(depthwise3x3(relu6(bn(conv1x1(x)))))))), relu6(a) = min(max(a, 0), 6);
    bn by the statistics of the batch
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        width, last = 32, 1280
        layers = [*normed(3, width, 3, 2), nn.ReLU6()]
        plan = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
        for expand_ratio, channels, count, stride in plan:
            for number in range(count):
                layers.append(inverted_bottleneck(width, channels, 1 if number else stride, expand_ratio))
                width = channels
        self.features = nn.Sequential(*layers, *normed(width, last), nn.ReLU6())
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))


batch_size = 10
num_classes = 1000
in_channels = 3
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [num_classes]
