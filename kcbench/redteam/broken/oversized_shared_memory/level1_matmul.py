# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=oversized_shared_memory
# redteam: expect=RES-02.shared,CMP-03.crash
# redteam: note=keeps twelve stages of tiles in flight, more shared memory than any device has; the interpreter does not mind
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col, mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + inner[:, None] * b_row + cols[None, :] * b_col, mask=(inner[:, None] < K) & (cols[None, :] < N), other=0.0
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        (M, K), N = A.shape, B.shape[1]
        out = torch.empty(M, N, dtype=torch.float32, device=A.device)
        a, b = A.float(), B.float()
        grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
        if out.numel():
            strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1))
            matmul_kernel[grid](a, b, out, M, N, K, *strides, BM=128, BN=128, BK=32, num_stages=12, num_warps=8)
        return out.to(A.dtype)
