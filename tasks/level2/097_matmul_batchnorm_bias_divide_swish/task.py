import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, batch normalization by the batch's own statistics, one bias for all outputs, a division, then Swish.

    y = z sigmoid(z), z = (batchnorm(x W^T + b) + bias) / d
    """

    def __init__(self, in_features, out_features, bn_eps=1e-5, bn_momentum=0.1, bias_shape=(1,), divide_value=1.0):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.bn = nn.BatchNorm1d(out_features, eps=bn_eps, momentum=bn_momentum)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.divide_value = divide_value

    def forward(self, x):
        x = (self.bn(self.matmul(x)) + self.bias) / self.divide_value
        return x * torch.sigmoid(x)


batch_size = 1024
in_features = 8192
out_features = 8192
bn_eps = 1e-5
bn_momentum = 0.1
bias_shape = (1,)
divide_value = 1.0


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, bn_eps, bn_momentum, bias_shape, divide_value]
