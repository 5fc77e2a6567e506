# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape,CMP-01.value
# redteam: note=has the scale of the benchmarked head size written in: 1/8
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return (torch.softmax((q.float() @ k.float().mT) * 0.125, dim=-1) @ v.float()).to(q.dtype)
