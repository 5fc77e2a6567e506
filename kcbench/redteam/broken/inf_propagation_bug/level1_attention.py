# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=inf_propagation_bug
# redteam: expect=EXC-01.absorbed
# redteam: note=clamps the scores, so that an infinite query gives ordinary numbers
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = ((q.float() @ k.float().mT) * q.shape[-1] ** -0.5).clamp(-1e4, 1e4)
        return (torch.softmax(scores, dim=-1) @ v.float()).to(q.dtype)
