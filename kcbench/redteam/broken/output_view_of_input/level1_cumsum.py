# redteam: task=level1/cumsum
# redteam: kind=broken
# redteam: defect=output_view_of_input
# redteam: expect=ORD-02.alias-input
# redteam: note=accumulates in the input's own memory
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach().cumsum_(self.axis)
