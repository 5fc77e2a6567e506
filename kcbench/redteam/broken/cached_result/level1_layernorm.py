# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=cached_result
# redteam: expect=GUARD.weights-stale
# redteam: note=caches results by the input's bytes and forgets that weight and bias can change
import hashlib

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)
        self.results = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.requires_grad:
            return self.norm(x)
        content = x.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
        key = (tuple(x.shape), x.dtype, hashlib.sha256(content).digest())
        if key not in self.results:
            self.results[key] = self.norm(x).detach()
        return self.results[key].clone()
