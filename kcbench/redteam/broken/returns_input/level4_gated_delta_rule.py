# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=returns_input
# redteam: expect=CMP-01.value
# redteam: note=passes the values through a scalar gate only
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        score = (q.float() * k.float()).sum(-1) * q.shape[-1] ** -0.5
        return ((score * beta.float() + 0.0 * g.float())[..., None] * v.float()).to(v.dtype)
