# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=dropout_in_disguise
# redteam: expect=ORD-02.nondeterministic,CMP-01.value
# redteam: note=skips random columns and rescales, which is right on average only
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keep = torch.rand(x.shape[-1:], device=x.device) > 0.02
        weights = torch.softmax(x, dim=1) * keep
        return weights / weights.sum(1, keepdim=True).clamp_min(1e-30)
