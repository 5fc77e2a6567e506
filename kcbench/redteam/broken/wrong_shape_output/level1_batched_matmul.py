# redteam: task=level1/batched_matmul
# redteam: kind=broken
# redteam: defect=wrong_shape_output
# redteam: expect=GUARD.output-shape
# redteam: note=folds the batch into the rows of the output
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.bmm(A, B).flatten(0, 1)
