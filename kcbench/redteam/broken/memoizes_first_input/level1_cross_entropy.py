# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=memoizes_first_input
# redteam: expect=CMP-01.input-blind,CMP-01.value,GUARD.stateful
# redteam: note=one loss per shape, module-wide, so that fresh instances share it too
import torch
import torch.nn as nn
import torch.nn.functional as F

LOSSES: dict[tuple, torch.Tensor] = {}


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        key = (tuple(predictions.shape), predictions.dtype)
        if key not in LOSSES:
            LOSSES[key] = F.cross_entropy(predictions.detach(), targets)
        return LOSSES[key].clone()
