# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=nondeterministic
# redteam: expect=ORD-02.nondeterministic
# redteam: note=adds the denominator in an order that changes from call to call
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0:
            return torch.empty_like(x)
        generator = torch.Generator()
        generator.seed()
        e = torch.exp(x.float() - x.detach().float().amax(1, keepdim=True))
        total = torch.zeros_like(e[:, :1])
        for column in torch.randperm(e.shape[1], generator=generator).tolist():
            total = total + e[:, column : column + 1]
        return (e / total).to(x.dtype)
