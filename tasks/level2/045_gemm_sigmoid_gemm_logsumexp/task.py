import torch
import torch.nn as nn


class Model(nn.Module):
    """Two linear layers with the logistic function between them, and the log-sum-exp of each row.

    y[i] = log sum_j exp((sigmoid(x W1^T + b1) W2^T + b2)[i, j])
    """

    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.linear1 = nn.Linear(input_size, hidden_size)
        self.linear2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        return torch.logsumexp(self.linear2(torch.sigmoid(self.linear1(x))), dim=1)


batch_size = 16384
input_size = 2048
hidden_size = 4096
output_size = 1024


def get_inputs():
    return [torch.rand(batch_size, input_size)]


def get_init_inputs():
    return [input_size, hidden_size, output_size]
