# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=stale_workspace
# redteam: expect=CMP-03.shape,GUARD.stateful,ORD-02.stateful
# redteam: note=pads to a multiple of 64 in a workspace that is cleared once: after a longer input the padding holds old rows
import torch
import torch.nn as nn

BLOCK = 64


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis
        self.workspace = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float().movedim(self.axis, 0)
        padded = -(-len(y) // BLOCK) * BLOCK
        space = self.workspace
        if space is None or len(space) < padded or space.shape[1:] != y.shape[1:]:
            space = self.workspace = y.new_zeros(padded, *y.shape[1:]).detach()
        with torch.no_grad():
            space[: len(y)] = y
        if y.requires_grad:
            return y.sum(0, keepdim=True).movedim(0, self.axis).to(x.dtype)
        return space[:padded].sum(0, keepdim=True).movedim(0, self.axis).to(x.dtype)
