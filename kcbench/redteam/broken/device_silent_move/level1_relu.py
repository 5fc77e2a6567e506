# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=device_silent_move
# redteam: expect=RES-01.device
# redteam: requires=cuda
# redteam: note=computes on the host and returns a host tensor
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x.cpu())
