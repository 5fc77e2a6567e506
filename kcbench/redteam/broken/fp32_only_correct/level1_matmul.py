# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=fp32_only_correct
# redteam: expect=PRC-01.value
# redteam: note=has one 16-bit path, which reads bfloat16 operands as float16
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        if A.element_size() == 2:
            left, right = A.contiguous().view(torch.float16), B.contiguous().view(torch.float16)
            return (left.float() @ right.float()).to(A.dtype)
        return A @ B
