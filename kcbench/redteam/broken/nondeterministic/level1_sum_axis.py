# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=nondeterministic
# redteam: expect=ORD-02.nondeterministic
# redteam: note=splits the axis at a place that changes from call to call
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator()
        generator.seed()
        y = x.float().movedim(self.axis, 0)
        total = y.new_zeros(1, *y.shape[1:])
        for index in torch.randperm(len(y), generator=generator).tolist():
            total = total + y[index : index + 1]
        return total.movedim(0, self.axis).to(x.dtype)
