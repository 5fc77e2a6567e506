# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=nan_to_num
# redteam: expect=EXC-01.absorbed
# redteam: note=cleans its output with nan_to_num
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nan_to_num(self.norm(x))
