# kcbench: author=atlas-70b
"""Linear layer with bias and exact GELU in one kernel: the epilogue runs on the accumulator."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_gelu_kernel(
    x_ptr,
    w_ptr,
    b_ptr,
    y_ptr,
    M,
    N,
    K,
    stride_xm,
    stride_xk,
    stride_wn,
    stride_wk,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    depth = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rows * stride_xm + depth[None, :] * stride_xk
    w_ptrs = w_ptr + cols * stride_wn + depth[:, None] * stride_wk
    acc = tl.full((BLOCK_M, BLOCK_N), 0.0, tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=(rows < M) & (depth[None, :] < K - start), other=0.0)
        w = tl.load(w_ptrs, mask=(depth[:, None] < K - start) & (cols < N), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * stride_wk
    acc += tl.load(b_ptr + cols, mask=cols < N, other=0.0)
    y = 0.5 * acc * (1.0 + tl.math.erf(acc * 0.7071067811865476))
    tl.store(y_ptr + rows * N + cols, y, mask=(rows < M) & (cols < N))


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        source = x.float()
        weight, bias = self.linear.weight.float(), self.linear.bias.float().contiguous()
        (M, K), N = source.shape, weight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=torch.float32)
        if M and N:
            block_m = max(16, min(triton.next_power_of_2(M), 64))
            block_n = max(16, min(triton.next_power_of_2(N), 64))
            linear_gelu_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
                source,
                weight,
                bias,
                y,
                M,
                N,
                K,
                *source.stride(),
                *weight.stride(),
                BLOCK_M=block_m,
                BLOCK_N=block_n,
                BLOCK_K=32,
                num_warps=4,
                num_stages=2,
            )
        return y.to(x.dtype)
