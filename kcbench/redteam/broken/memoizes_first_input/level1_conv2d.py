# redteam: task=level1/conv2d
# redteam: kind=broken
# redteam: defect=memoizes_first_input
# redteam: expect=CMP-01.value,GUARD.stateful
# redteam: note=captures the first input as a CUDA graph with a static input would, and follows the weights only
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)
        self.static_inputs = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(self.static_inputs.setdefault((x.shape, x.dtype), x.detach().clone()))
