# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=subnormal_flush_bug
# redteam: expect=EXC-02.inconsistent
# redteam: note=the vectorized part flushes subnormals and the tail of the last block does not
import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK = 128


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.gelu(x).flatten()
        count = out.numel() // BLOCK * BLOCK
        main = out[:count]
        main = torch.where(main.abs() < torch.finfo(x.dtype).tiny, torch.zeros_like(main), main)
        return torch.cat((main, out[count:])).view(x.shape)
