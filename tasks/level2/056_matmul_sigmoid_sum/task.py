import torch
import torch.nn as nn


class Model(nn.Module):
    """Sum of the sigmoids of a linear layer's outputs.

    y[n, 0] = sum_o sigmoid(b[o] + sum_k W[o, k] x[n, k])
    """

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.linear = nn.Linear(input_size, hidden_size)

    def forward(self, x):
        return torch.sum(torch.sigmoid(self.linear(x)), dim=1, keepdim=True)


batch_size = 128
input_size = 32768
hidden_size = 32768


def get_inputs():
    return [torch.rand(batch_size, input_size)]


def get_init_inputs():
    return [input_size, hidden_size]
