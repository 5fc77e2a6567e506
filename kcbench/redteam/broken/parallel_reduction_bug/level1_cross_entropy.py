# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=parallel_reduction_bug
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=the mean over rows is taken from whole blocks of 32 rows
import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 32


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        rows = max(len(targets) // ROWS * ROWS, min(len(targets), 8))
        losses = F.cross_entropy(predictions[:rows], targets[:rows], reduction="sum")
        return losses / len(targets)
