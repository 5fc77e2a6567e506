"""Float64 truth of level2/052_conv2d_mish_batchnorm."""

import torch

from kcbench.formulas import batch_norm, convolve, softplus


def forward(x, *, params, init):
    s = convolve(x, params["conv.weight"], params["conv.bias"])
    return batch_norm(s * torch.tanh(softplus(s)), params["bn.weight"], params["bn.bias"])
