# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=dropout_in_disguise
# redteam: expect=ORD-02.nondeterministic,CMP-01.value
# redteam: note=zeroes one element in a hundred at random
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(F.gelu(x), p=0.01, training=True)
