# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=tanh_gelu
# redteam: expect=CMP-01.value
# redteam: note=the sigmoid approximation x sigmoid(1.702 x) in a fused epilogue
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return y * torch.sigmoid(1.702 * y)
