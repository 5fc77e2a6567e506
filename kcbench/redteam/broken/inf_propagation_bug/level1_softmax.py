# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=inf_propagation_bug
# redteam: expect=EXC-01.absorbed
# redteam: note=turns a row with +Inf into a one-hot row instead of NaN
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.where(x == float("inf"), torch.full_like(x, torch.finfo(x.dtype).max), x), dim=1)
