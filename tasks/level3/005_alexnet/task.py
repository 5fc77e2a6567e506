import torch
import torch.nn as nn


class Model(nn.Module):
    """Five convolutions and three linear layers that classify images of 224 x 224 pixels.

    f = pool(c_5(c_4(c_3(pool(c_2(pool(c_1(x)))))))), c(x) = relu(conv(x)), pool = max of 3 x 3, every other pixel;
    y = fc3(relu(fc2(relu(fc1(f)))))
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, 11, stride=4, padding=2)
        self.conv2 = nn.Conv2d(96, 256, 5, padding=2)
        self.conv3 = nn.Conv2d(256, 384, 3, padding=1)
        self.conv4 = nn.Conv2d(384, 384, 3, padding=1)
        self.conv5 = nn.Conv2d(384, 256, 3, padding=1)
        self.pool = nn.MaxPool2d(3, stride=2)
        self.fc1 = nn.Linear(256 * 6 * 6, 4096)
        self.fc2 = nn.Linear(4096, 4096)
        self.fc3 = nn.Linear(4096, num_classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.conv4(torch.relu(self.conv3(x))))
        x = self.pool(torch.relu(self.conv5(x))).flatten(1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


batch_size = 1024
num_classes = 1000
in_channels = 3
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [num_classes]
