# redteam: task=level1/batched_matmul
# redteam: kind=broken
# redteam: defect=cached_result
# redteam: expect=EXC-01.absorbed
# redteam: note=reuses the last product when the first operand is the same, whatever the second one is
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        if A.requires_grad or B.requires_grad:
            return torch.bmm(A, B)
        if self.last is not None:
            operand, product = self.last
            if operand.dtype == A.dtype and product.shape[2] == B.shape[2] and torch.equal(operand, A):
                return product.clone()
        self.last = (A.clone(), torch.bmm(A, B))
        return self.last[1].clone()
