# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=subnormal_flush_bug
# redteam: expect=EXC-02.flushed
# redteam: note=flushes subnormal terms before adding
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = torch.where(x.abs() < torch.finfo(x.dtype).tiny, torch.zeros_like(x), x)
        return kept.sum(self.axis, keepdim=True)
