# kcbench: targets=sm_100
# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=tensor_memory_overdrawn
# redteam: expect=RES-02.tmem
# redteam: note=products larger than any tried take three accumulators at once: 768 columns of Tensor Memory, of 512
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def load(ptr, rows, cols, row, col, row_end, col_end):
    mask = (rows[:, None] < row_end) & (cols[None, :] < col_end)
    return tl.load(ptr + rows[:, None] * row + cols[None, :] * col, mask=mask, other=0.0)


@triton.jit
def store(ptr, rows, cols, M, N, values):
    tl.store(ptr + rows[:, None] * N + cols[None, :], values, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, large, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    if large > 0:
        rows = tl.program_id(0) * 384 + tl.arange(0, 128)
        cols = tl.program_id(1) * 256 + tl.arange(0, 256)
        one = tl.zeros((128, 256), dtype=tl.float32)
        two = tl.zeros((128, 256), dtype=tl.float32)
        three = tl.zeros((128, 256), dtype=tl.float32)
        for start in range(0, K, 8):
            inner = start + tl.arange(0, 8)
            b = load(b_ptr, inner, cols, b_row, b_col, K, N)
            one = tl.dot(load(a_ptr, rows, inner, a_row, a_col, M, K), b, one, input_precision="tf32x3")
            two = tl.dot(load(a_ptr, rows + 128, inner, a_row, a_col, M, K), b, two, input_precision="tf32x3")
            three = tl.dot(load(a_ptr, rows + 256, inner, a_row, a_col, M, K), b, three, input_precision="tf32x3")
        store(c_ptr, rows, cols, M, N, one)
        store(c_ptr, rows + 128, cols, M, N, two)
        store(c_ptr, rows + 256, cols, M, N, three)
    else:
        row = tl.program_id(0) * BM + tl.arange(0, BM)
        col = tl.program_id(1) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for at in range(0, K, BK):
            depth = at + tl.arange(0, BK)
            left = load(a_ptr, row, depth, a_row, a_col, M, K)
            acc = tl.dot(left, load(b_ptr, depth, col, b_row, b_col, K, N), acc, input_precision="ieee")
        store(c_ptr, row, col, M, N, acc)


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        (M, K), N = A.shape, B.shape[1]
        out = torch.empty(M, N, dtype=torch.float32, device=A.device)
        a, b = A.float(), B.float()
        large = min(M, N, K) > 16384
        tile = (384, 256) if large else (64, 64)
        if out.numel():
            sizes = (M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1))
            grid = (triton.cdiv(M, tile[0]), triton.cdiv(N, tile[1]))
            matmul_kernel[grid](a, b, out, *sizes, int(large), BM=64, BN=64, BK=32, num_stages=1, num_warps=8)
        return out.to(A.dtype)
