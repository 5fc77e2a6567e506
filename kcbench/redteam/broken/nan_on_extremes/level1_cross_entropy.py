# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=nan_on_extremes
# redteam: expect=CMP-01.value,EXC-01.minted
# redteam: note=logarithm of a softmax: an underflowed probability gives an infinite loss
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        probabilities = torch.softmax(predictions.float(), dim=1)
        return -torch.log(probabilities.gather(1, targets[:, None])).mean().to(predictions.dtype)
