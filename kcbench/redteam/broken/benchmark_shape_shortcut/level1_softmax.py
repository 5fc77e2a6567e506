# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=benchmark_shape_shortcut
# redteam: expect=CMP-03.shape
# redteam: note=right everywhere but at the benchmarked width, where a faster path carries the sum in bfloat16
import torch
import torch.nn as nn

BENCHMARKED = 16384


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] != BENCHMARKED:
            return torch.softmax(x, dim=1)
        e = torch.exp(x.float() - x.detach().float().amax(1, keepdim=True))
        total = torch.zeros_like(e[:, :1], dtype=torch.bfloat16)
        for block in e.split(256, dim=1):
            total = total + block.sum(1, keepdim=True).bfloat16()
        return (e / total.float()).to(x.dtype)
