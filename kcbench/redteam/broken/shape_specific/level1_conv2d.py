# redteam: task=level1/conv2d
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape,CMP-01.value
# redteam: note=uses the smaller of height and width for both, right for square images only
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        side = min(x.shape[2:])
        out = self.conv(x)
        mask = torch.zeros_like(out)
        mask[:, :, :side, :side] = 1
        return out * mask
