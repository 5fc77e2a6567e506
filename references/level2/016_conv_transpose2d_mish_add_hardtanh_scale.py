"""Float64 truth of level2/016_conv_transpose2d_mish_add_hardtanh_scale."""

import torch

from kcbench.formulas import convolve_transposed, mish


def forward(x, *, params, init):
    stride, padding, output_padding, added, factor = init[3:]
    y = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    y = mish(y) + added
    return torch.minimum(torch.maximum(y, y.new_full((), -1.0)), y.new_full((), 1.0)) * factor
