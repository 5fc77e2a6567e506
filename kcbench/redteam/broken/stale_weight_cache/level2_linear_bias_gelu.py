# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=stale_weight_cache
# redteam: expect=GUARD.weights-stale
# redteam: note=transposes the weight once, at the first call, and never looks again
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.packed = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.packed is None:
            self.packed = self.linear.weight.detach().t().contiguous()
        return F.gelu(torch.addmm(self.linear.bias, x, self.packed))
