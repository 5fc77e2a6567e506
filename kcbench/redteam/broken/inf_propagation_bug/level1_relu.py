# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=inf_propagation_bug
# redteam: expect=EXC-01.absorbed
# redteam: note=clamps to the largest finite value, so that +Inf becomes finite
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(x, 0.0, torch.finfo(x.dtype).max)
