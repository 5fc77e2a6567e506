# redteam: task=level4/gated_delta_rule
# redteam: kind=honest
# redteam: note=the eager model itself
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        work = torch.promote_types(v.dtype, torch.float32)
        out_dtype = v.dtype
        q, k, v, g, beta = (tensor.to(work) for tensor in (q, k, v, g, beta))
        q = q * q.shape[-1] ** -0.5
        decay = g.exp()
        state = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
        outputs = []
        for t in range(q.shape[1]):
            state = state * decay[:, t, :, None, None]
            recalled = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
            update = beta[:, t, :, None] * (v[:, t] - recalled)
            state = state + k[:, t, :, :, None] * update[:, :, None, :]
            outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]))
        return torch.stack(outputs, dim=1).to(out_dtype)
