# redteam: task=level1/rmsnorm
# redteam: kind=broken
# redteam: defect=state_carried
# redteam: expect=GUARD.stateful,ORD-02.nondeterministic,CMP-01.value
# redteam: note=normalizes by a running mean square over calls
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)
        self.running = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        mean_square = y.square().mean(-1, keepdim=True)
        if self.running is not None and self.running.shape == mean_square.shape:
            mean_square = 0.9 * mean_square + 0.1 * self.running
        self.running = mean_square.detach()
        return (y * torch.rsqrt(mean_square + self.norm.eps) * self.norm.weight.float()).to(x.dtype)
