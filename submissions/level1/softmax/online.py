# kcbench: author=atlas-70b
"""Softmax over the last dimension: a streaming pass for maximum and sum, then a pass that writes."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = (rows < n_rows)[:, None]
    base = (rows * n_cols)[:, None]

    # tl.max and tl.maximum drop NaN. The sum does not: exp(NaN) enters it, and it divides every element of the row.
    peak = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, n_cols, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)[None, :]
        x = tl.load(x_ptr + base + cols, mask=in_rows & (cols < n_cols), other=float("-inf"))
        new_peak = tl.maximum(peak, tl.max(x, axis=1))
        # While a row has seen only -inf, shift by 0: its sum stays 0, and 0 / 0 makes the row NaN in the end.
        shift = tl.where(new_peak == float("-inf"), 0.0, new_peak)
        total = total * tl.exp(peak - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
        peak = new_peak

    shift = tl.where(peak == float("-inf"), 0.0, peak)
    for start in range(0, n_cols, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)[None, :]
        mask = in_rows & (cols < n_cols)
        x = tl.load(x_ptr + base + cols, mask=mask, other=float("-inf"))
        tl.store(y_ptr + base + cols, tl.exp(x - shift[:, None]) / total[:, None], mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        source = x.float().contiguous()
        y = torch.empty_like(source)
        if source.numel():
            n_cols = source.shape[-1]
            n_rows = source.numel() // n_cols
            block_n = min(triton.next_power_of_2(n_cols), 2048)
            block_m = min(triton.next_power_of_2(n_rows), max(1, 8192 // block_n))
            softmax_kernel[(triton.cdiv(n_rows, block_m),)](
                source, y, n_rows, n_cols, BLOCK_M=block_m, BLOCK_N=block_n, num_warps=8
            )
        return y.to(x.dtype)
