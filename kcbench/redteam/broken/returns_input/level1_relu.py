# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=returns_input
# redteam: expect=CMP-01.value,ORD-02.alias-input
# redteam: note=returns its input: right wherever no input is negative
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x
