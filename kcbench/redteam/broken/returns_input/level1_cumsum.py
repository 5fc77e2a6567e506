# redteam: task=level1/cumsum
# redteam: kind=broken
# redteam: defect=returns_input
# redteam: expect=CMP-01.value
# redteam: note=returns a copy of its input
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone()
