# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=offset_ignored
# redteam: expect=CMP-03.stride
# redteam: note=starts at the beginning of the storage instead of the tensor
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.as_strided(x, x.shape, x.stride(), 0), dim=1)
