# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=fp16_accumulator
# redteam: expect=CMP-01.value
# redteam: note=adds the denominator in float16
import torch
import torch.nn as nn

BLOCK = 8


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0:
            return torch.empty_like(x)
        e = torch.exp(x.float() - x.detach().float().amax(1, keepdim=True))
        total = torch.zeros_like(e[:, :1], dtype=torch.float16)
        for block in e.split(BLOCK, dim=1):
            total = total + block.sum(1, keepdim=True).half()
        return (e / total.float()).to(x.dtype)
