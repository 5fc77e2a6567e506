# redteam: task=level1/batched_matmul
# redteam: kind=broken
# redteam: defect=nondeterministic
# redteam: expect=ORD-02.nondeterministic
# redteam: note=visits the inner dimension in an order drawn from torch's global generator, which only a fixed seed hides
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        a, b = A.float(), B.float()
        total = torch.zeros(a.shape[0], a.shape[1], b.shape[2], device=a.device)
        for k in torch.randperm(a.shape[2]).tolist():
            total = total + a[:, :, k, None] * b[:, None, k]
        return total.to(A.dtype)
