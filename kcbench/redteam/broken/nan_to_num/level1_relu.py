# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=nan_to_num
# redteam: expect=EXC-01.absorbed
# redteam: note=fmax returns the other operand for NaN
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fmax(x, torch.zeros_like(x))
