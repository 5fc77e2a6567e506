# redteam: task=level1/logsumexp
# redteam: kind=broken
# redteam: defect=wrong_shape_output
# redteam: expect=GUARD.output-shape
# redteam: note=keeps the reduced axis, which broadcasts unnoticed against the reference
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(x, dim=1, keepdim=True)
