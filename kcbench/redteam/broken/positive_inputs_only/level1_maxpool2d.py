# redteam: task=level1/maxpool2d
# redteam: kind=broken
# redteam: defect=positive_inputs_only
# redteam: expect=CMP-01.value
# redteam: note=pads with zero, which beats every negative value at the border
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.kernel, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(F.pad(x, (self.padding,) * 4), self.kernel, stride=self.stride)
