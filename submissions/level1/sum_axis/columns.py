# kcbench: author=atlas-70b
"""Sum over one axis: each program owns a block of output elements and walks down the axis."""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, n_outputs, length, inner, BLOCK_C: tl.constexpr, BLOCK_K: tl.constexpr):
    outputs = tl.program_id(0).to(tl.int64) * BLOCK_C + tl.arange(0, BLOCK_C)
    in_outputs = (outputs < n_outputs)[None, :]
    base = ((outputs // inner) * length * inner + outputs % inner)[None, :]

    acc = tl.full((BLOCK_K, BLOCK_C), 0.0, tl.float32)
    for start in range(0, length, BLOCK_K):
        steps = start + tl.arange(0, BLOCK_K)[:, None]
        acc += tl.load(x_ptr + base + steps * inner, mask=in_outputs & (steps < length), other=0.0)
    tl.store(y_ptr + outputs, tl.sum(acc, axis=0), mask=outputs < n_outputs)


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
        y = torch.empty(shape, device=x.device, dtype=torch.float32)
        n_outputs = y.numel()
        if n_outputs:
            block_k = min(triton.next_power_of_2(max(length, 1)), 64)
            block_c = min(triton.next_power_of_2(n_outputs), 128)
            sum_kernel[(triton.cdiv(n_outputs, block_c),)](
                source, y, n_outputs, length, inner, BLOCK_C=block_c, BLOCK_K=block_k, num_warps=8
            )
        return y.to(x.dtype)
