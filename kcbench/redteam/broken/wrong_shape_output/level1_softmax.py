# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=wrong_shape_output
# redteam: expect=CMP-03.batch
# redteam: note=squeezes its output, so that a batch of one loses its axis
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1).squeeze(0)
