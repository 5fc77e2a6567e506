# redteam: task=level1/logsumexp
# redteam: kind=broken
# redteam: defect=parallel_reduction_bug
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=combines the blocks' maxima and sums, but rescales only the first block's sum
import torch
import torch.nn as nn

BLOCK = 64


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        peak = torch.full_like(y[:, 0], float("-inf"))
        total = torch.zeros_like(peak)
        for index, block in enumerate(y.split(BLOCK, dim=1)):
            new_peak = torch.maximum(peak, block.detach().amax(1))
            shift = torch.where(new_peak.isinf(), torch.zeros_like(new_peak), new_peak)
            if index == 1:
                total = total * torch.exp(peak - shift)
            total = total + torch.exp(block - shift[:, None]).sum(1)
            peak = new_peak
        return (torch.where(peak.isinf(), torch.zeros_like(peak), peak) + total.log()).to(x.dtype)
