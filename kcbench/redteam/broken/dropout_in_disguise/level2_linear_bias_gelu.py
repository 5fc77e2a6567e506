# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=dropout_in_disguise
# redteam: expect=ORD-02.nondeterministic,CMP-01.value
# redteam: note=uses a random half of the inner dimension and doubles the product
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        picked = torch.randperm(x.shape[1], device=x.device)[: max(1, x.shape[1] // 2)]
        scale = x.shape[1] / len(picked)
        return F.gelu(x[:, picked] @ self.linear.weight[:, picked].t() * scale + self.linear.bias)
