import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Two convolutions and three linear layers that classify images of one channel.

    f = pool(relu(conv2(pool(relu(conv1(x)))))), pool(a) = max of 2 x 2;
    y = fc3(relu(fc2(relu(fc1(f)))))
    """

    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


batch_size = 4096
num_classes = 20
height = 32
width = 32


def get_inputs():
    return [torch.rand(batch_size, 1, height, width)]


def get_init_inputs():
    return [num_classes]
