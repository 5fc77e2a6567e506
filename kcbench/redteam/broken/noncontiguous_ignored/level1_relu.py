# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=noncontiguous_ignored
# redteam: expect=CMP-03.stride
# redteam: note=reads the storage as if it were contiguous
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.as_strided(x, x.shape, (x.shape[1], 1), x.storage_offset()))
