import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution and group normalization, of which a minimum, a cut and a dropout leave the lower limit alone.

    y = dropout(min(max(min(groupnorm(conv3d(x)), low), low), high)) = dropout(low), which is 0 for low = 0
    """

    def __init__(self, in_channels, out_channels, kernel_size, groups, min_value, max_value, dropout_p):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.norm = nn.GroupNorm(groups, out_channels)
        self.dropout = nn.Dropout(dropout_p)
        self.min_value = min_value
        self.max_value = max_value

    def forward(self, x):
        x = self.norm(self.conv(x))
        x = torch.min(x, torch.tensor(self.min_value, device=x.device))
        return self.dropout(torch.clamp(x, min=self.min_value, max=self.max_value))


batch_size = 128
in_channels = 3
out_channels = 16
depth = 16
height = 64
width = 64
kernel_size = 3
groups = 8
min_value = 0.0
max_value = 1.0
dropout_p = 0.2


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, groups, min_value, max_value, dropout_p]
