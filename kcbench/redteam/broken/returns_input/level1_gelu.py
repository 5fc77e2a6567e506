# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=returns_input
# redteam: expect=CMP-01.value
# redteam: note=returns a copy of its input
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone()
