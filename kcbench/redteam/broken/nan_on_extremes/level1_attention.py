# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=nan_on_extremes
# redteam: expect=EXC-01.minted,CMP-01.value
# redteam: note=no shift by the maximum: a large score overflows and the row is NaN
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        weights = torch.exp((q.float() @ k.float().mT) * q.shape[-1] ** -0.5)
        return ((weights @ v.float()) / weights.sum(-1, keepdim=True)).to(q.dtype)
