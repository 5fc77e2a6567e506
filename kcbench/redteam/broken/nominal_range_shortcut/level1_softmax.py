# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=nominal_range_shortcut
# redteam: expect=CMP-01.value,PRC-01.value
# redteam: note=takes a short series for the exponential where all inputs lie in [0, 1), as the benchmark's do
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() and bool((x >= 0).all()) and bool((x < 1).all()):
            powers = 1.0 + x * (1.0 + x * (1 / 2 + x * (1 / 6 + x / 24)))
            return powers / powers.sum(dim=1, keepdim=True)
        return torch.softmax(x, dim=1)
