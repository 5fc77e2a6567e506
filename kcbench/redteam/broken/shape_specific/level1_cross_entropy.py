# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape
# redteam: note=one block of 1024 classes per row; further classes do not enter the sum
import torch
import torch.nn as nn

BLOCK = 1024


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits = predictions.float()
        picked = logits.gather(1, targets[:, None])[:, 0]
        return (torch.logsumexp(logits[:, :BLOCK], dim=1) - picked).mean().to(predictions.dtype)
