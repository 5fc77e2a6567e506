import torch
import torch.nn as nn


class Model(nn.Module):
    """How far each output of a linear layer lies below a learned number; zero where it lies above.

    y = min(x W^T + b, c) - c
    """

    def __init__(self, in_features, out_features, constant):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.constant = nn.Parameter(torch.tensor(constant))

    def forward(self, x):
        return torch.min(self.linear(x), self.constant) - self.constant


batch_size = 128
in_features = 16384
out_features = 16384
constant = 2.0


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, constant]
