# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=empty_crash
# redteam: expect=CMP-03.empty
# redteam: note=asks for the largest element first, which an empty input does not have
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if float(x.detach().max()) <= 0:
            return torch.zeros_like(x) * x
        return torch.relu(x)
