# redteam: task=level1/cumsum
# redteam: kind=broken
# redteam: defect=parallel_reduction_bug
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=the look-back takes the carry of the block before it only, not of all earlier ones
import torch
import torch.nn as nn

BLOCK = 32


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float().movedim(self.axis, -1)
        if y.numel() == 0:
            return torch.cumsum(x, dim=self.axis)
        local = [block.cumsum(-1) for block in y.split(BLOCK, dim=-1)]
        parts = local[:1] + [block + before[..., -1:] for before, block in zip(local, local[1:], strict=False)]
        return torch.cat(parts, dim=-1).movedim(-1, self.axis).to(x.dtype)
