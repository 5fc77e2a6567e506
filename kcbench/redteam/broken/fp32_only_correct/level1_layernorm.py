# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=fp32_only_correct
# redteam: expect=PRC-01.value
# redteam: note=takes the moments over a row length in units of four bytes, half of a 16-bit row
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        width = max(1, x.shape[-1] * x.element_size() // 4)
        y = x.float()
        seen = y[..., :width]
        mean = seen.mean(-1, keepdim=True)
        rstd = torch.rsqrt((seen - mean).square().mean(-1, keepdim=True) + self.norm.eps)
        return ((y - mean) * rstd * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)
