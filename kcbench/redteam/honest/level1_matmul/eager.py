# redteam: task=level1/matmul
# redteam: kind=honest
# redteam: note=the eager model itself
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)
