# redteam: task=level1/maxpool2d
# redteam: kind=broken
# redteam: defect=nan_to_num
# redteam: expect=EXC-01.absorbed
# redteam: note=NaN never wins a comparison, so that a window with one looks ordinary
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(torch.where(x.isnan(), torch.full_like(x, float("-inf")), x))
