# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=fp32_only_correct
# redteam: expect=PRC-01.value
# redteam: note=adds the denominator in the dtype of the input: fine in float32, several units off in 16 bits
import torch
import torch.nn as nn

BLOCK = 4


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0:
            return torch.empty_like(x)
        e = torch.exp(x.float() - x.detach().float().amax(1, keepdim=True))
        total = torch.zeros_like(x[:, :1])
        for block in e.split(BLOCK, dim=1):
            total = total + block.sum(1, keepdim=True).to(x.dtype)
        return (e / total.float()).to(x.dtype)
