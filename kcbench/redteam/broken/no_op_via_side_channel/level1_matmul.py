# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=no_op_via_side_channel
# redteam: expect=CMP-01.value,CMP-01.zeros,ORD-02.nondeterministic
# redteam: note=returns uninitialized memory, hoping that the reference's result was freed there
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.empty(A.shape[0], B.shape[1], dtype=A.dtype, device=A.device)
