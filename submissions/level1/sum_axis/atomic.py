# kcbench: author=borealis
"""Sum over one axis, split along the axis: partial sums meet in an atomic add."""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, n_outputs, length, inner, BLOCK_C: tl.constexpr, BLOCK_K: tl.constexpr):
    outputs = tl.program_id(0).to(tl.int64) * BLOCK_C + tl.arange(0, BLOCK_C)
    steps = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
    base = ((outputs // inner) * length * inner + outputs % inner)[None, :]
    x = tl.load(x_ptr + base + steps * inner, mask=(outputs < n_outputs)[None, :] & (steps < length), other=0.0)
    tl.atomic_add(y_ptr + outputs, tl.sum(x, axis=0), mask=outputs < n_outputs)


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        axis = self.axis % x.dim()
        shape = list(x.shape)
        length, inner = shape[axis], math.prod(shape[axis + 1 :])
        shape[axis] = 1
        source = x.float().contiguous()
        y = torch.zeros(shape, device=x.device, dtype=torch.float32)
        n_outputs = y.numel()
        if source.numel():
            block_k = min(triton.next_power_of_2(length), 64)
            block_c = min(triton.next_power_of_2(n_outputs), 128)
            sum_kernel[(triton.cdiv(n_outputs, block_c), triton.cdiv(length, block_k))](
                source, y, n_outputs, length, inner, BLOCK_C=block_c, BLOCK_K=block_k, num_warps=8
            )
        return y.to(x.dtype)
