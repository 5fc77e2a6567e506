# kcbench: author=atlas-70b
"""Layer norm over the last dimension: mean, then variance about the mean, then the affine map."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n_rows, n_cols, eps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = (rows < n_rows)[:, None]
    base = (rows * n_cols)[:, None]

    mean = tl.full((BLOCK_M,), 0.0, tl.float32)
    for start in range(0, n_cols, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)[None, :]
        mean += tl.sum(tl.load(x_ptr + base + cols, mask=in_rows & (cols < n_cols), other=0.0), axis=1)
    mean = mean / n_cols

    variance = tl.full((BLOCK_M,), 0.0, tl.float32)
    for start in range(0, n_cols, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)[None, :]
        mask = in_rows & (cols < n_cols)
        x = tl.load(x_ptr + base + cols, mask=mask, other=0.0)
        centred = tl.where(mask, x - mean[:, None], 0.0)
        variance += tl.sum(centred * centred, axis=1)
    scale = 1.0 / tl.sqrt_rn(variance / n_cols + eps)

    for start in range(0, n_cols, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)[None, :]
        mask = in_rows & (cols < n_cols)
        x = tl.load(x_ptr + base + cols, mask=mask, other=0.0)
        w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0)
        b = tl.load(b_ptr + cols, mask=cols < n_cols, other=0.0)
        tl.store(y_ptr + base + cols, (x - mean[:, None]) * scale[:, None] * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        source = x.float().contiguous()
        weight, bias = self.norm.weight.float().contiguous(), self.norm.bias.float().contiguous()
        y = torch.empty_like(source)
        if source.numel():
            n_cols = source.shape[-1]
            n_rows = source.numel() // n_cols
            block_n = min(triton.next_power_of_2(n_cols), 2048)
            block_m = min(triton.next_power_of_2(n_rows), max(1, 8192 // block_n))
            layernorm_kernel[(triton.cdiv(n_rows, block_m),)](
                source, weight, bias, y, n_rows, n_cols, self.norm.eps, BLOCK_M=block_m, BLOCK_N=block_n, num_warps=8
            )
        return y.to(x.dtype)
