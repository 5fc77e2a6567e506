# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=parallel_reduction_bug
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=the last two partial sums race for one slot and only one survives
import torch
import torch.nn as nn

BLOCK = 16


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        blocks = y.split(BLOCK, dim=-1)
        slots = {min(index, max(len(blocks) - 2, 0)): block.sum(-1, keepdim=True) for index, block in enumerate(blocks)}
        centred = y - sum(slots.values()) / y.shape[-1]
        rstd = torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.norm.eps)
        return (centred * rstd * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)
