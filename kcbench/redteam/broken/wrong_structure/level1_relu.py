# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=wrong_structure
# redteam: expect=GUARD.output-shape
# redteam: note=returns a list of one tensor instead of a tensor
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.relu(x)]
