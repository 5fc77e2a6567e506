# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=sampled_rows
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=takes the mean over the first quarter of the rows, which is close where rows are drawn alike
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        some = max(len(targets) // 4, 1)
        return F.cross_entropy(predictions[:some], targets[:some])
