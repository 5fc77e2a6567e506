# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=fp16_accumulator
# redteam: expect=PRC-02.accumulator,CMP-01.value
# redteam: note=carries the product in bfloat16 before bias and activation
import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK = 32


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.linear.weight.float()
        total = torch.zeros(len(x), len(weight), dtype=torch.bfloat16, device=x.device)
        for start in range(0, x.shape[1], BLOCK):
            block = x[:, start : start + BLOCK].float() @ weight[:, start : start + BLOCK].t()
            total = total + block.bfloat16()
        return F.gelu(total.float() + self.linear.bias.float()).to(x.dtype)
