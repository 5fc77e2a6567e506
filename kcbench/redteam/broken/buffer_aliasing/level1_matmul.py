# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=buffer_aliasing
# redteam: expect=ORD-02.alias-output
# redteam: note=takes turns between two output buffers, so that the third call overwrites the first result
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffers, self.turn = {}, 0

    @torch.no_grad()
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        key = (A.shape[0], B.shape[1], A.dtype, A.device)
        if key not in self.buffers:
            self.buffers[key] = [torch.empty(key[:2], dtype=A.dtype, device=A.device) for _ in range(2)]
        self.turn = 1 - self.turn
        return self.buffers[key][self.turn].copy_(A @ B)
