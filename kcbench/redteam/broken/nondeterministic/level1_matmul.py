# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=nondeterministic
# redteam: expect=ORD-02.nondeterministic
# redteam: note=adds inner blocks in an order that the system's entropy decides, as unordered atomics do
import torch
import torch.nn as nn

BLOCK = 8


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator()
        generator.seed()
        a, b = A.float(), B.float()
        total = a.new_zeros(a.shape[0], b.shape[1])
        for block in torch.randperm(-(-a.shape[1] // BLOCK), generator=generator).tolist():
            total = total + a[:, block * BLOCK : (block + 1) * BLOCK] @ b[block * BLOCK : (block + 1) * BLOCK]
        return total.to(A.dtype)
