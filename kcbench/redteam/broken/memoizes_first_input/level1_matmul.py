# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=memoizes_first_input
# redteam: expect=CMP-01.input-blind,CMP-01.value,GUARD.stateful
# redteam: note=keeps the first operands and multiplies them again and again
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.operands = {}

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        key = (A.shape, B.shape, A.dtype)
        left, right = self.operands.setdefault(key, (A.detach().clone(), B.detach().clone()))
        return left @ right
