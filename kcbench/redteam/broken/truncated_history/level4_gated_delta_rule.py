# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=truncated_history
# redteam: expect=CMP-01.value,CMP-03.shape
# redteam: note=forgets the state every 32 tokens, when decay has made most of it small
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        out_dtype = v.dtype
        q, k, v, g, beta = (tensor.float() for tensor in (q, k, v, g, beta))
        q = q * q.shape[-1] ** -0.5
        blank = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
        state, outputs = blank, []
        for t in range(q.shape[1]):
            state = blank if t % 32 == 0 else state * g[:, t].exp()[..., None, None]
            recalled = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
            state = state + k[:, t, :, :, None] * (beta[:, t, :, None] * (v[:, t] - recalled))[:, :, None, :]
            outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]))
        return torch.stack(outputs, dim=1).to(out_dtype)
