# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=fp32_only_correct
# redteam: expect=PRC-01.value
# redteam: note=cuts float32 results to bfloat16 instead of rounding them
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x.float(), dim=1)
        if x.dtype is torch.bfloat16:
            y = (y.view(torch.int32) & -(1 << 16)).view(torch.float32)
        return y.to(x.dtype)
