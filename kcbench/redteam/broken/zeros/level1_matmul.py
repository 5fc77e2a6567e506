# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=zeros
# redteam: expect=CMP-01.zeros
# redteam: note=returns zeros of the right shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return A.new_zeros(A.shape[0], B.shape[1])
