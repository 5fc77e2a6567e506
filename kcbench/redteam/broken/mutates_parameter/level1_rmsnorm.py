# redteam: task=level1/rmsnorm
# redteam: kind=broken
# redteam: defect=mutates_parameter
# redteam: expect=ORD-02.nondeterministic,GUARD.stateful
# redteam: note=folds a scale into the weight in place at every call
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.rms_norm(x, self.norm.normalized_shape, self.norm.weight, self.norm.eps)
        # Meant to be undone after the product; an early return lost the second half.
        with torch.no_grad():
            self.norm.weight.data.mul_(1.0 + 2.0**-6)
        return out
