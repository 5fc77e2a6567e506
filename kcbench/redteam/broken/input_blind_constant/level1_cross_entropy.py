# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=input_blind_constant
# redteam: expect=CMP-01.input-blind,CMP-01.value
# redteam: note=returns log C, the loss of an untrained classifier on average
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.full((), math.log(predictions.shape[1]), dtype=predictions.dtype, device=predictions.device)
