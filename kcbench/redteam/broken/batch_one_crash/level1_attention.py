# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=batch_one_crash
# redteam: expect=CMP-03.crash
# redteam: note=drops axes of size one before a product that needs four
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        query, key, value = q.squeeze(0), k.squeeze(0), v.squeeze(0)
        scores = torch.einsum("bhqd,bhkd->bhqk", query.float(), key.float()) * q.shape[-1] ** -0.5
        return torch.einsum("bhqk,bhkd->bhqd", torch.softmax(scores, dim=-1), value.float()).to(q.dtype)
