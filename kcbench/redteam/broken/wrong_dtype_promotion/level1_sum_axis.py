# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=wrong_dtype_promotion
# redteam: expect=GUARD.output-dtype,PRC-01.dtype
# redteam: note=returns the float64 sum
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(self.axis, keepdim=True, dtype=torch.float64)
