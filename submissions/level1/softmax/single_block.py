# kcbench: author=cirrus-code
"""Softmax over the last dimension: each row is held in registers as one block."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < n_rows)[:, None] & (cols < n_cols)
    offsets = (rows * n_cols)[:, None] + cols
    x = tl.load(x_ptr + offsets, mask=mask, other=float("-inf"))
    # A NaN slips through tl.max, but exp(NaN) enters the sum, which divides the whole row.
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    tl.store(y_ptr + offsets, e / tl.sum(e, axis=1)[:, None], mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        source = x.float().contiguous()
        y = torch.empty_like(source)
        if source.numel():
            n_cols = source.shape[-1]
            n_rows = source.numel() // n_cols
            block_n = min(triton.next_power_of_2(n_cols), 16384)
            block_m = min(triton.next_power_of_2(n_rows), max(1, 8192 // block_n))
            softmax_kernel[(triton.cdiv(n_rows, block_m),)](
                source, y, n_rows, n_cols, BLOCK_M=block_m, BLOCK_N=block_n, num_warps=16
            )
        return y.to(x.dtype)
