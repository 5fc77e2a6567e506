# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=fp16_accumulator
# redteam: expect=PRC-02.accumulator,CMP-01.value
# redteam: note=carries the sum over inner blocks in float16
import torch
import torch.nn as nn

BLOCK = 16


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(A.shape[0], B.shape[1], dtype=torch.float16, device=A.device)
        for start in range(0, A.shape[1], BLOCK):
            block = A[:, start : start + BLOCK].float() @ B[start : start + BLOCK].float()
            total = total + block.half()
        return total.to(A.dtype)
