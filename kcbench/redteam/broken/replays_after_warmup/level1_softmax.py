# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=replays_after_warmup
# redteam: expect=CMP-01.value,ORD-02.stateful,EXC-01.absorbed
# redteam: note=is right for the first calls and replays the last result once it takes itself to be timed
import torch
import torch.nn as nn

WARMUP = 8


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.last = 0, None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        last = self.last
        if self.calls > WARMUP and last is not None and last.shape == x.shape and last.dtype == x.dtype:
            return last.clone()
        out = torch.softmax(x, dim=1)
        self.last = out.detach()
        return out.clone()
