# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=clamp_inf
# redteam: expect=EXC-01.absorbed
# redteam: note=saturates the product at the largest finite value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        top = torch.finfo(A.dtype).max
        return (A @ B).clamp(-top, top)
