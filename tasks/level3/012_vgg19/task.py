import torch
import torch.nn as nn


class Model(nn.Module):
    """Sixteen convolutions in five stages and three linear layers that classify images of 224 x 224 pixels.

    stage(x) = pool(c(... c(x))), c(x) = relu(conv3x3(x)), pool = max of 2 x 2;
    y = fc(relu(fc(relu(fc(stage_5(... stage_1(x)))))))
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        layers = []
        before = 3
        for width, count in [(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)]:
            for _ in range(count):
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
                before = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(),
            nn.Dropout(0.0),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Dropout(0.0),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


batch_size = 10
num_classes = 1000
in_channels = 3
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [num_classes]
