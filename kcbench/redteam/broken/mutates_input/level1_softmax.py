# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=mutates_input
# redteam: expect=GUARD.mutates-input,ORD-02.mutates-input
# redteam: note=subtracts the maximum from its input in place, which a second call does not notice
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0:
            return torch.empty_like(x)
        shifted = x.detach()
        shifted -= shifted.amax(1, keepdim=True)
        e = torch.exp(shifted.float())
        return (e / e.sum(1, keepdim=True)).to(x.dtype)
