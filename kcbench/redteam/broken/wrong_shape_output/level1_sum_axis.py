# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=wrong_shape_output
# redteam: expect=GUARD.output-shape
# redteam: note=drops the summed axis instead of keeping it
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=self.axis)
