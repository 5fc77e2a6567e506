# redteam: task=level1/maxpool2d
# redteam: kind=broken
# redteam: defect=wrong_shape_output
# redteam: expect=CMP-03.shape,GUARD.output-shape
# redteam: note=rounds the output size up instead of down
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, ceil_mode=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
