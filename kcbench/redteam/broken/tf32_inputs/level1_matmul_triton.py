# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=tf32_inputs
# redteam: expect=PRC-01.tf32
# redteam: requires=cuda
# redteam: note=a Triton kernel that leaves tl.dot at its default precision, tf32
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, TILE: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)[:, None]
    columns = tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)[None, :]
    depth = tl.arange(0, TILE)
    total = tl.full((TILE, TILE), 0.0, tl.float32)
    for start in range(0, K, TILE):
        a = tl.load(a_ptr + rows * K + start + depth[None, :], mask=(rows < M) & (depth[None, :] < K - start), other=0.0)
        b = tl.load(b_ptr + (start + depth[:, None]) * N + columns, mask=(depth[:, None] < K - start) & (columns < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows * N + columns, total, mask=(rows < M) & (columns < N))


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        a, b = A.float().contiguous(), B.float().contiguous()
        out = torch.empty(a.shape[0], b.shape[1], dtype=torch.float32, device=a.device)
        if out.numel():
            grid = (triton.cdiv(out.shape[0], 32), triton.cdiv(out.shape[1], 32))
            matmul_kernel[grid](a, b, out, out.shape[0], out.shape[1], a.shape[1], TILE=32)
        return out.to(A.dtype)
