# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=branches_disagree
# redteam: expect=CMP-01.value,GUARD.stateful,ORD-02.nondeterministic
# redteam: note=the first calls take the exact form, as if the fast one were still being compiled, later ones the sigmoid form
import torch
import torch.nn as nn
import torch.nn.functional as F

COMPILED_AFTER = 8


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.linear(x)
        if self.calls <= COMPILED_AFTER:
            return F.gelu(y)
        return y * torch.sigmoid(1.702 * y)
