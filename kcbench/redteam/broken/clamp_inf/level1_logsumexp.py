# redteam: task=level1/logsumexp
# redteam: kind=broken
# redteam: defect=clamp_inf
# redteam: expect=EXC-01.absorbed
# redteam: note=gives the largest finite number where infinity is due
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top = x.detach().amax(dim=1, keepdim=True)
        top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
        out = (top + torch.log(torch.exp(x - top).sum(dim=1, keepdim=True))).squeeze(1)
        most = torch.finfo(x.dtype).max
        return out.clamp(-most, most)
