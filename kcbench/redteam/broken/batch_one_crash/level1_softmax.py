# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=batch_one_crash
# redteam: expect=CMP-03.crash
# redteam: note=squeezes its input and then asks for the second axis
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x.squeeze(0), dim=1)
