# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=mutates_input
# redteam: expect=GUARD.mutates-input,ORD-02.mutates-input
# redteam: note=rectifies its input in place and returns a copy
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach().relu_().clone()
