# redteam: task=level1/maxpool2d
# redteam: kind=broken
# redteam: defect=fp32_only_correct
# redteam: expect=PRC-01.value
# redteam: note=compares 16-bit floats as integers, which reverses the order of negative numbers
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.kernel, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (self.padding,) * 4, value=float("-inf"))
        words = padded if x.element_size() == 4 else padded.view(torch.int16)
        windows = words.unfold(2, self.kernel, self.stride).unfold(3, self.kernel, self.stride)
        return windows.amax((-2, -1)).view(x.dtype)
