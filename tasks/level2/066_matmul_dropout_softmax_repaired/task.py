import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, dropout by a mask that is given, and the logarithm of softmax over the outputs.

    y[n, o] = d[n, o] - log sum_j exp(d[n, j]), d = keep (x W^T + b) / (1 - p)
    """

    def __init__(self, in_features, out_features, dropout_p):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.dropout_p = dropout_p

    def forward(self, x, keep):
        return torch.log_softmax(self.matmul(x) * keep / (1 - self.dropout_p), dim=1)


batch_size = 128
in_features = 16384
out_features = 16384
dropout_p = 0.2


def get_inputs():
    return [torch.rand(batch_size, in_features), (torch.rand(batch_size, out_features) >= dropout_p).float()]


def get_init_inputs():
    return [in_features, out_features, dropout_p]
