# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=wrong_shape_output
# redteam: expect=GUARD.output-shape
# redteam: note=returns a vector of one loss instead of a scalar
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(predictions, targets).view(1)
