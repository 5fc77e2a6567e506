# redteam: task=level1/logsumexp
# redteam: kind=broken
# redteam: defect=no_max_shift
# redteam: expect=CMP-01.value
# redteam: note=exponentiates without a shift: infinite beyond 88, -Inf below -104
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(x.float()).sum(1).log().to(x.dtype)
