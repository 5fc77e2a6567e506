"""Float64 truth of level2/047_conv3d_mish_tanh."""

import torch

from kcbench.formulas import convolve, mish


def forward(x, *, params, init):
    return torch.tanh(mish(convolve(x, params["conv.weight"], params["conv.bias"])))
