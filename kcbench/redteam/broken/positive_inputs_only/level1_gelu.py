# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=positive_inputs_only
# redteam: expect=CMP-01.value
# redteam: note=takes the negative side to be zero
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x < 0, torch.zeros_like(x), F.gelu(x))
