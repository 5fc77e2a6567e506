# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=parallel_reduction_bug
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=split-K in four equal parts loses what does not divide by four
import torch
import torch.nn as nn

PARTS = 4


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        part = A.shape[1] // PARTS
        if part == 0:
            return A @ B
        slices = [slice(index * part, (index + 1) * part) for index in range(PARTS)]
        return sum(A[:, window].float() @ B[window].float() for window in slices).to(A.dtype)
