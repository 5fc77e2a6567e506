# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=input_blind_constant
# redteam: expect=CMP-01.input-blind,CMP-01.value
# redteam: note=returns the uniform distribution, within 1e-2 of the truth for many classes
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.full_like(x, 1.0 / max(x.shape[1], 1))
