# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=uninitialized_scratch
# redteam: expect=ORD-02.nondeterministic,ORD-02.stateful,CMP-01.value
# redteam: note=adds into a scratch buffer that nobody cleared
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x.sum(self.axis, keepdim=True)
        scratch = torch.empty_like(total)
        return scratch + total
