# redteam: task=level1/batched_matmul
# redteam: kind=broken
# redteam: defect=tf32_inputs
# redteam: expect=PRC-01.tf32
# redteam: note=cuts the operands to ten fraction bits, as a truncating tensor-core load does
import torch
import torch.nn as nn


def cut_to_tf32(x: torch.Tensor) -> torch.Tensor:
    words = x.float().contiguous().view(torch.int32) & -0x2000
    return torch.where(x.isnan(), x.float(), words.view(torch.float32))


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.bmm(cut_to_tf32(A), cut_to_tf32(B)).to(A.dtype)
