# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=missing_gradient
# redteam: expect=CMP-02.missing
# redteam: note=reads the weight through .data, so that it gets no gradient
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(F.linear(x, self.linear.weight.data, self.linear.bias))
