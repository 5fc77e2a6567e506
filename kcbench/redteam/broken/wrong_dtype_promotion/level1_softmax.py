# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=wrong_dtype_promotion
# redteam: expect=PRC-01.dtype
# redteam: note=computes 16-bit inputs in float32 and forgets to convert back
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x.float(), dim=1)
