# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=tf32_inputs
# redteam: expect=PRC-01.tf32
# redteam: note=rounds the operands to ten fraction bits where the contract owes ieee float32
import torch
import torch.nn as nn


def round_to_tf32(x: torch.Tensor) -> torch.Tensor:
    words = x.float().contiguous().view(torch.int32)
    rounded = (words + 0xFFF + ((words >> 13) & 1)) & -0x2000
    return torch.where(x.isfinite(), rounded.view(torch.float32), x.float())


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return (round_to_tf32(A) @ round_to_tf32(B)).to(A.dtype)
