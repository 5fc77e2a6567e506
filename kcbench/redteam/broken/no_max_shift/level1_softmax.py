# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=no_max_shift
# redteam: expect=CMP-01.value
# redteam: note=exponentiates without a shift: NaN for logits beyond 88
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        e = torch.exp(x.float())
        return (e / e.sum(1, keepdim=True)).to(x.dtype)
