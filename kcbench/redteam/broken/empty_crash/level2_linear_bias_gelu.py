# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=empty_crash
# redteam: expect=CMP-03.empty
# redteam: note=concatenates row blocks, of which an empty batch has none
import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 16


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([F.gelu(self.linear(x[start : start + ROWS])) for start in range(0, len(x), ROWS)])
