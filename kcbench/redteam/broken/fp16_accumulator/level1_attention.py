# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=fp16_accumulator
# redteam: expect=PRC-02.accumulator,CMP-01.value
# redteam: note=keeps the running product with the values in float16
import torch
import torch.nn as nn

TILE = 16


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        if q.numel() == 0:
            return torch.empty_like(q)
        scores = (q.float() @ k.float().mT) * q.shape[-1] ** -0.5
        weights = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
        mixed = torch.zeros_like(q, dtype=torch.float16)
        for start in range(0, k.shape[2], TILE):
            part = weights[..., start : start + TILE] @ v[:, :, start : start + TILE].float()
            mixed = mixed + part.half()
        return (mixed.float() / weights.sum(-1, keepdim=True)).to(q.dtype)
