# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=buffer_aliasing
# redteam: expect=ORD-02.alias-output
# redteam: note=returns one output buffer that every call overwrites
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.out is None or self.out.shape != x.shape or self.out.dtype != x.dtype:
            self.out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        return self.out.copy_(torch.relu(x))
