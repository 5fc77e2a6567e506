import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, dropout, and softmax over its outputs.

    y[n, o] = exp(d[n, o]) / sum_j exp(d[n, j]), d = m (x W^T + b) / (1 - p), m[n, o] = 0 with probability p, else 1
    """

    def __init__(self, in_features, out_features, dropout_p):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x):
        return torch.softmax(self.dropout(self.matmul(x)), dim=1)


batch_size = 128
in_features = 16384
out_features = 16384
dropout_p = 0.2


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, dropout_p]
