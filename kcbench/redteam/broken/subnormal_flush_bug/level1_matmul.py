# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=subnormal_flush_bug
# redteam: expect=EXC-02.flushed
# redteam: note=flushes subnormal operands, as tensor cores fed by a flushing load do
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        tiny = torch.finfo(A.dtype).tiny
        left, right = (torch.where(t.abs() < tiny, torch.zeros_like(t), t) for t in (A, B))
        return left @ right
