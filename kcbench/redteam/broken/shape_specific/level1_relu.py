# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape,CMP-01.value
# redteam: note=processes whole blocks of 256 elements; the tail stays zero
import torch
import torch.nn as nn

BLOCK = 256


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten()
        count = flat.numel() // BLOCK * BLOCK
        return torch.cat((torch.relu(flat[:count]), torch.zeros_like(flat[count:]))).view(x.shape)
