"""Float64 truth of level2/013_conv_transpose3d_mean_bias_softmax_tanh_scale."""

import torch

from kcbench.formulas import convolve_transposed, softmax


def forward(x, *, params, init):
    stride, padding, factor = init[3:]
    y = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    y = y.sum(dim=2, keepdim=True) / y.shape[2] + params["bias"]
    return torch.tanh(softmax(y, 1)) * factor
