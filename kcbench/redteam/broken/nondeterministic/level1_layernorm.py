# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=nondeterministic
# redteam: expect=ORD-02.nondeterministic
# redteam: note=picks one of two right algorithms by the clock, as an autotuner that never settles would
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        blocks = y.split(8, dim=-1)
        if time.perf_counter_ns() // 100 % 2:
            blocks = blocks[::-1]
        centred = y - sum(block.sum(-1, keepdim=True) for block in blocks) / x.shape[-1]
        rstd = torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.norm.eps)
        return (centred * rstd * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)
