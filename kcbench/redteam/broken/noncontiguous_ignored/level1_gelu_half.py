# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=noncontiguous_ignored
# redteam: expect=CMP-03.stride
# redteam: note=the vectorized 16-bit path reads the storage in order; the float32 path follows the strides
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.element_size() == 2:
            x = torch.as_strided(x, x.shape, (x.shape[1], 1), x.storage_offset())
        return F.gelu(x.float()).to(x.dtype)
