# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=parallel_reduction_bug
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=a tree reduction that drops the odd element out at each level
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float().movedim(self.axis, 0)
        while len(y) > 1:
            half = len(y) // 2
            y = y[:half] + y[half : 2 * half]
        return y.sum(0, keepdim=True).movedim(0, self.axis).to(x.dtype)
