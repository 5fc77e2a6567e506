# redteam: task=level1/conv2d
# redteam: kind=broken
# redteam: defect=nan_on_subnormal
# redteam: expect=EXC-02.minted
# redteam: note=normalizes each image before the convolution and undoes it after
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        scale = torch.rsqrt(y.square().sum((1, 2, 3), keepdim=True))
        scale = torch.where((y == 0).flatten(1).all(1).view(-1, 1, 1, 1), torch.ones_like(scale), scale)
        out = F.conv2d(y * scale, self.conv.weight.float(), padding=self.conv.padding) / scale
        return (out + self.conv.bias.float().view(1, -1, 1, 1)).to(x.dtype)
