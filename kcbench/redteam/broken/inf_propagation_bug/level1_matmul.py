# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=inf_propagation_bug
# redteam: expect=EXC-01.spread
# redteam: note=scales each row by a power of two near its largest size: Inf / Inf is NaN where an infinity is due
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        a = A.float()
        if a.numel() == 0:
            return A @ B
        top = a.detach().abs().amax(1, keepdim=True)
        scale = torch.where(top > 0, torch.exp2(top.log2().floor()), torch.ones_like(top))
        return (((a / scale) @ B.float()) * scale).to(A.dtype)
