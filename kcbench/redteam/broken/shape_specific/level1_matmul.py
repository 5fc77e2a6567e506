# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape,CMP-01.value
# redteam: note=tiles of 16 without masks: short edge tiles are left out
import torch
import torch.nn as nn

TILE = 16


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        rows, columns = len(A) // TILE * TILE, B.shape[1] // TILE * TILE
        out = A.new_zeros(len(A), B.shape[1])
        out[:rows, :columns] = A[:rows] @ B[:, :columns]
        return out
