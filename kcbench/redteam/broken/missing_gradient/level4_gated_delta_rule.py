# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=missing_gradient
# redteam: expect=CMP-02.missing
# redteam: note=forward only, where the contract asks for the gradient
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        out_dtype = v.dtype
        q, k, v, g, beta = (tensor.float() for tensor in (q, k, v, g, beta))
        q = q * q.shape[-1] ** -0.5
        state = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
        out = torch.empty_like(v)
        for t in range(q.shape[1]):
            state *= g[:, t].exp()[..., None, None]
            recalled = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
            state += k[:, t, :, :, None] * (beta[:, t, :, None] * (v[:, t] - recalled))[:, :, None, :]
            out[:, t] = torch.einsum("bhkv,bhk->bhv", state, q[:, t])
        return out.to(out_dtype)
