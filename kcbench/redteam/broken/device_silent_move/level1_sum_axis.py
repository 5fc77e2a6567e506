# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=device_silent_move
# redteam: expect=RES-01.device
# redteam: requires=cuda
# redteam: note=sums in float64 on the host and leaves the result there
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to("cpu", torch.float64).sum(self.axis, keepdim=True).to(x.dtype)
