# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=branches_disagree
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=vectors of four get the exact form, what is left over the sigmoid form
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1)
        vectors = flat.numel() // 4 * 4
        tail = flat[vectors:]
        return torch.cat([F.gelu(flat[:vectors]), tail * torch.sigmoid(1.702 * tail)]).view(x.shape)
