"""Float64 truth of level2/048_conv3d_scale_tanh_multiply_sigmoid."""

import torch

from kcbench.formulas import convolve, sigmoid


def forward(x, *, params, init):
    y = convolve(x, params["conv.weight"], params["conv.bias"])
    return sigmoid(torch.tanh(y * params["scaling_factor"]) * params["bias"])
