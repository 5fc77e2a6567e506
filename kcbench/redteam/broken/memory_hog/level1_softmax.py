# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=memory_hog
# redteam: expect=RES-01.memory
# redteam: requires=cuda
# redteam: note=takes a workspace of 4 GiB for every call, whatever the size of the input
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        workspace = torch.empty(1 << 30, dtype=torch.float32, device=x.device)
        row = workspace[: x.numel()].view(x.shape)
        torch.softmax(x.float(), dim=1, out=row)
        return row.to(x.dtype, copy=True)
