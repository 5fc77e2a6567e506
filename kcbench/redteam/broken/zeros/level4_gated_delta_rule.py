# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=zeros
# redteam: expect=CMP-01.zeros
# redteam: note=returns zeros, connected to the inputs so that autograd finds a gradient
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        return v * 0.0 + (q.sum() + k.sum() + g.sum() + beta.sum()).to(v.dtype) * 0.0
