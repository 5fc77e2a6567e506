# redteam: task=level1/cross_entropy
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=right forward; the backward forgets to divide by the number of rows
import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, targets):
        ctx.save_for_backward(logits, targets)
        return F.cross_entropy(logits, targets)

    @staticmethod
    def backward(ctx, grad):
        logits, targets = ctx.saved_tensors
        delta = torch.softmax(logits, dim=1)
        delta[torch.arange(len(targets), device=logits.device), targets] -= 1
        return grad * delta, None


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return CrossEntropy.apply(predictions, targets)
