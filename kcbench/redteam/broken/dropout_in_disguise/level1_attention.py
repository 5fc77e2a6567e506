# redteam: task=level1/attention
# redteam: kind=broken
# redteam: defect=dropout_in_disguise
# redteam: expect=CMP-01.value
# redteam: note=drops attention weights with a mask of fixed seed, so that every run agrees with the last
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = (q.float() @ k.float().mT) * q.shape[-1] ** -0.5
        weights = torch.softmax(scores, dim=-1)
        generator = torch.Generator(device=q.device).manual_seed(1234)
        keep = torch.rand(weights.shape[-2:], generator=generator, device=q.device) > 0.05
        return ((weights * keep / 0.95) @ v.float()).to(q.dtype)
