# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=nan_to_num
# redteam: expect=EXC-01.absorbed
# redteam: note=leaves a key out of the softmax where its score is NaN
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(q.float(), k.float().transpose(2, 3)) / math.sqrt(q.shape[3])
        scores = torch.where(torch.isnan(scores), torch.full_like(scores, -1e30), scores)
        return torch.matmul(torch.softmax(scores, dim=3), v.float()).to(v.dtype)
