# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=buffer_aliasing
# redteam: expect=ORD-02.alias-output
# redteam: note=applies the activation in a workspace that is kept and returned
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.workspace = None

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = len(x)
        if self.workspace is None or len(self.workspace) < rows or self.workspace.dtype != x.dtype:
            self.workspace = torch.empty(rows, self.linear.out_features, dtype=x.dtype, device=x.device)
        return self.workspace[:rows].copy_(F.gelu(self.linear(x)))
