# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=wrong_dtype_promotion
# redteam: expect=PRC-01.dtype
# redteam: note=returns the float32 accumulator for 16-bit operands
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return A.float() @ B.float()
