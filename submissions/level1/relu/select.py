# kcbench: author=atlas-70b
"""Elementwise ReLU: one program per block, a select on the sign."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    # The comparison is false for NaN, so NaN takes the second branch and stays.
    tl.store(y_ptr + offsets, tl.where(x < 0.0, 0.0, x), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        source = x.float().contiguous()
        y = torch.empty_like(source)
        n_elements = source.numel()
        if n_elements:
            block = min(triton.next_power_of_2(n_elements), 4096)
            relu_kernel[(triton.cdiv(n_elements, block),)](source, y, n_elements, BLOCK=block, num_warps=8)
        return y.to(x.dtype)
