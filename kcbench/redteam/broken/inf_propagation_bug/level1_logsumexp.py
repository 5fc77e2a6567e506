# redteam: task=level1/logsumexp
# redteam: kind=broken
# redteam: defect=inf_propagation_bug
# redteam: expect=EXC-01.spread
# redteam: note=shifts by an infinite maximum, Inf - Inf, and returns NaN instead of +Inf
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        peak = y.detach().amax(1, keepdim=True)
        return (peak[:, 0] + torch.exp(y - peak).sum(1).log()).to(x.dtype)
