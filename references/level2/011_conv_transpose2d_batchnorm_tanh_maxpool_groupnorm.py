"""Float64 truth of level2/011_conv_transpose2d_batchnorm_tanh_maxpool_groupnorm."""

import torch

from kcbench.formulas import batch_norm, convolve_transposed, group_norm, windows


def forward(x, *, params, init):
    stride, padding, _, groups = init[3:]
    y = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    y = torch.tanh(batch_norm(y, params["batch_norm.weight"], params["batch_norm.bias"]))
    return group_norm(windows(y, 2).amax(dim=-1), groups, params["group_norm.weight"], params["group_norm.bias"])
