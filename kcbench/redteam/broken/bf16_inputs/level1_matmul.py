# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=bf16_inputs
# redteam: expect=PRC-01.narrowed
# redteam: note=converts float32 operands to bfloat16 for the tensor cores
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return (A.bfloat16().float() @ B.bfloat16().float()).to(A.dtype)
