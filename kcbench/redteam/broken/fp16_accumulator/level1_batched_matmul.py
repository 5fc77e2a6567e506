# redteam: task=level1/batched_matmul
# redteam: kind=broken
# redteam: defect=fp16_accumulator
# redteam: expect=PRC-02.accumulator
# redteam: note=carries the sum in the inputs' own dtype: right in float32, too narrow in 16 bits
import torch
import torch.nn as nn

BLOCK = 16


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(A.shape[0], A.shape[1], B.shape[2], dtype=A.dtype, device=A.device)
        for start in range(0, A.shape[2], BLOCK):
            total = total + torch.bmm(A[:, :, start : start + BLOCK], B[:, start : start + BLOCK])
        return total
