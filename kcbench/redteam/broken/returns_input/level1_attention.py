# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=returns_input
# redteam: expect=CMP-01.value
# redteam: note=returns the values as they are
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return v.clone()
