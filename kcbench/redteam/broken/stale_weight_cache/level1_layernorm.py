# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=stale_weight_cache
# redteam: expect=GUARD.weights-stale
# redteam: note=keeps a float32 copy of weight and bias from the first call
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)
        self.copies = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.copies is None:
            self.copies = tuple(p.detach().to(torch.float32, copy=True) for p in (self.norm.weight, self.norm.bias))
        return F.layer_norm(x.float(), self.norm.normalized_shape, *self.copies, self.norm.eps).to(x.dtype)
