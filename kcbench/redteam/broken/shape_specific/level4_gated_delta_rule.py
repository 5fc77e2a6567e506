# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape,CMP-01.value
# redteam: note=works in chunks of 64 tokens and leaves an incomplete last chunk at zero
import torch
import torch.nn as nn

CHUNK = 64


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        steps = v.shape[1] // CHUNK * CHUNK
        query, key, value, gate, rate = (tensor.float() for tensor in (q, k, v, g, beta))
        query = query * q.shape[-1] ** -0.5
        state = query.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
        outputs = []
        for t in range(steps):
            state = state * gate[:, t].exp()[..., None, None]
            recalled = torch.einsum("bhkv,bhk->bhv", state, key[:, t])
            state = state + key[:, t, :, :, None] * (rate[:, t, :, None] * (value[:, t] - recalled))[:, :, None, :]
            outputs.append(torch.einsum("bhkv,bhk->bhv", state, query[:, t]))
        rest = torch.zeros_like(v[:, steps:])
        return torch.cat((torch.stack(outputs, dim=1).to(v.dtype), rest), dim=1) if outputs else rest
