# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=nan_on_subnormal
# redteam: expect=EXC-02.minted
# redteam: note=scales rows to unit length before the product, with an inverse root that overflows
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        a = A.float()
        scale = torch.rsqrt(a.square().sum(1, keepdim=True))
        scale = torch.where((a == 0).all(1, keepdim=True), torch.ones_like(scale), scale)
        return (((a * scale) @ B.float()) / scale).to(A.dtype)
