# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=tanh_gelu
# redteam: expect=CMP-01.value
# redteam: note=the tanh approximation where the exact form is due
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x, approximate="tanh")
