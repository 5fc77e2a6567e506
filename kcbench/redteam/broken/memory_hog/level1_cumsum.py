# redteam: task=level1/cumsum
# redteam: kind=broken
# redteam: defect=memory_hog
# redteam: expect=RES-01.memory
# redteam: requires=cuda
# redteam: note=repeats every row 4000 times before it sums one of them
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        copies = x.unsqueeze(0).repeat(4000, *([1] * x.dim()))
        return torch.cumsum(copies[0], dim=self.axis)
