import torch
import torch.nn as nn


class Model(nn.Module):
    """Layers that each see all channels so far and add some of their own.

    x_0 = x, x_(l+1) = [x_l, conv3x3(relu(bn(x_l)))], y = x_last, bn by the statistics of the batch
    """

    def __init__(self, num_layers: int, num_input_features: int, growth_rate: int):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(num_input_features + i * growth_rate),
                nn.ReLU(),
                nn.Conv2d(num_input_features + i * growth_rate, growth_rate, 3, padding=1, bias=False),
            )
            for i in range(num_layers)
        )

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], dim=1)
        return x


batch_size = 10
num_layers = 6
num_input_features = 32
growth_rate = 32
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, num_input_features, height, width)]


def get_init_inputs():
    return [num_layers, num_input_features, growth_rate]
