# kcbench: author=borealis
"""GELU through tanh, elementwise; tanh is written with one exponential."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tanh = 2.0 / (1.0 + tl.exp(-2.0 * inner)) - 1.0
    tl.store(y_ptr + offsets, 0.5 * x * (1.0 + tanh), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        source = x.float().contiguous()
        y = torch.empty_like(source)
        n_elements = source.numel()
        if n_elements:
            block = min(triton.next_power_of_2(n_elements), 4096)
            gelu_kernel[(triton.cdiv(n_elements, block),)](source, y, n_elements, BLOCK=block, num_warps=8)
        return y.to(x.dtype)
