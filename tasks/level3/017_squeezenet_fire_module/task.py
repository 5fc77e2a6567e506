import torch
import torch.nn as nn


class Model(nn.Module):
    """A 1x1 convolution to few channels, then a 1x1 and a 3x3 convolution side by side.

    s = relu(conv1x1(x)), y = [relu(conv1x1(s)), relu(conv3x3(s))]
    """

    def __init__(self, in_channels, squeeze_channels, expand1x1_channels, expand3x3_channels):
        super().__init__()
        self.squeeze = nn.Conv2d(in_channels, squeeze_channels, 1)
        self.expand1x1 = nn.Conv2d(squeeze_channels, expand1x1_channels, 1)
        self.expand3x3 = nn.Conv2d(squeeze_channels, expand3x3_channels, 3, padding=1)

    def forward(self, x):
        s = torch.relu(self.squeeze(x))
        return torch.relu(torch.cat([self.expand1x1(s), self.expand3x3(s)], dim=1))


batch_size = 128
num_input_features = 3
num_output_features = 64
height = 256
width = 256
squeeze_channels = 6
expand1x1_channels = 64
expand3x3_channels = 64


def get_inputs():
    return [torch.rand(batch_size, num_input_features, height, width)]


def get_init_inputs():
    return [num_input_features, squeeze_channels, expand1x1_channels, expand3x3_channels]
