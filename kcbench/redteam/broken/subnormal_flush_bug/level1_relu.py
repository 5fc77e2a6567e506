# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=subnormal_flush_bug
# redteam: expect=EXC-02.flushed
# redteam: note=flushes subnormals to zero, as a build with fast math does
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.relu(x)
        return torch.where(out.abs() < torch.finfo(x.dtype).tiny, torch.zeros_like(out), out)
