# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=fp16_accumulator
# redteam: expect=PRC-02.accumulator,CMP-01.value
# redteam: note=adds slices in float16
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.movedim(self.axis, 0).half()
        total = torch.zeros_like(y[:1]) if len(y) else y.sum(0, keepdim=True)
        for row in y.split(1):
            total = total + row
        return total.movedim(0, self.axis).to(x.dtype)
