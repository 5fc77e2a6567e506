# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape
# redteam: note=one block of 1024 columns per row; wider rows are cut
import torch
import torch.nn as nn

BLOCK = 1024


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        head = torch.softmax(x[:, :BLOCK], dim=1)
        return torch.cat((head, torch.zeros_like(x[:, BLOCK:])), dim=1)
