# redteam: task=level1/conv2d
# redteam: kind=broken
# redteam: defect=bf16_inputs
# redteam: expect=PRC-01.narrowed
# redteam: note=converts the weight to bfloat16 and leaves the input alone
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.conv.weight.bfloat16().float()
        return F.conv2d(x.float(), weight, self.conv.bias.float(), padding=self.conv.padding).to(x.dtype)
