# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=output_view_of_input
# redteam: expect=ORD-02.alias-input
# redteam: note=returns the input itself when the summed axis has size one
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.shape[self.axis] == 1 else torch.sum(x, dim=self.axis, keepdim=True)
