# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=returns_input
# redteam: expect=CMP-01.value
# redteam: note=returns its input, scaled by one
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1.0
