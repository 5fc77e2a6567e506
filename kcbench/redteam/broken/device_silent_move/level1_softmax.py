# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=device_silent_move
# redteam: expect=RES-01.host-copy
# redteam: requires=cuda
# redteam: note=copies to the host, computes there and copies back
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x.cpu(), dim=1).to(x.device)
