# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=wrong_dtype_promotion
# redteam: expect=PRC-01.dtype
# redteam: note=returns float16 for bfloat16 inputs
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.norm(x)
        return out.half() if x.element_size() == 2 else out
