# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=nan_to_num
# redteam: expect=EXC-01.absorbed
# redteam: note=the 16-bit path uses packed maxima that drop NaN; the float32 path keeps it
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.element_size() == 2:
            return torch.fmax(x, torch.zeros_like(x))
        return torch.relu(x)
