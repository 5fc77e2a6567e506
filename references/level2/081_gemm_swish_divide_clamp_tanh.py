"""Float64 truth of level2/081_gemm_swish_divide_clamp_tanh: the second cut changes nothing."""

import torch

from kcbench.formulas import clamp, linear, silu


def forward(x, *, params, init):
    return torch.tanh(clamp(silu(linear(x, params["gemm.weight"], params["gemm.bias"])) / 2, -1.0, 1.0))
