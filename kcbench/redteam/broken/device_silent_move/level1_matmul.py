# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=device_silent_move
# redteam: expect=RES-01.host-copy
# redteam: requires=cuda
# redteam: note=goes through NumPy on the host and copies the product back
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        left, right = A.detach().float().cpu().numpy(), B.detach().float().cpu().numpy()
        return torch.from_numpy(left @ right).to(A.device, A.dtype)
