# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=parallel_reduction_bug
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=eight lanes sum a row, but the combining loop starts at the second lane
import torch
import torch.nn as nn

LANES = 8


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0:
            return torch.empty_like(x)
        e = torch.exp(x.float() - x.detach().float().amax(1, keepdim=True))
        partial = [e[:, lane::LANES].sum(1, keepdim=True) for lane in range(LANES)]
        lanes = partial[1:] if x.shape[1] > 128 else partial
        return (e / sum(lanes)).to(x.dtype)
