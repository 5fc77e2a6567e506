# kcbench: author=atlas-70b
"""Exact GELU with a Triton backward: forward and derivative are two elementwise kernels behind one autograd function."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu_forward_kernel(x_ptr, y_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, 0.5 * x * (1.0 + tl.math.erf(x * 0.7071067811865476)), mask=mask)


@triton.jit
def gelu_backward_kernel(x_ptr, dy_ptr, dx_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0)
    cdf = 0.5 * (1.0 + tl.math.erf(x * 0.7071067811865476))
    pdf = 0.3989422804014327 * tl.exp(-0.5 * x * x)
    tl.store(dx_ptr + offsets, dy * (cdf + x * pdf), mask=mask)


def _grid(n_elements: int) -> tuple[tuple[int], int]:
    block = min(triton.next_power_of_2(n_elements), 4096)
    return (triton.cdiv(n_elements, block),), block


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        source = x.float().contiguous()
        y = torch.empty_like(source)
        if source.numel():
            grid, block = _grid(source.numel())
            gelu_forward_kernel[grid](source, y, source.numel(), BLOCK=block, num_warps=8)
        ctx.save_for_backward(x)
        return y.to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        source, dy = x.float().contiguous(), grad.float().contiguous()
        dx = torch.empty_like(source)
        if source.numel():
            grid, block = _grid(source.numel())
            gelu_backward_kernel[grid](source, dy, dx, source.numel(), BLOCK=block, num_warps=8)
        return dx.to(x.dtype)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Gelu.apply(x)
