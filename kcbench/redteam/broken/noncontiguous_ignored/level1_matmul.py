# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=noncontiguous_ignored
# redteam: expect=CMP-03.stride
# redteam: note=addresses both operands row-major whatever their strides
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        left, right = (torch.as_strided(t, t.shape, (t.shape[1], 1), t.storage_offset()) for t in (A, B))
        return left @ right
