# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape
# redteam: note=keeps decay sums for 256 tokens only and starts over after them
import torch
import torch.nn as nn

LONGEST = 256


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        out_dtype = v.dtype
        q, k, v, g, beta = (tensor.float() for tensor in (q, k, v, g, beta))
        q = q * q.shape[-1] ** -0.5
        blank = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
        state, outputs = blank, []
        for t in range(q.shape[1]):
            state = blank if t == LONGEST else state * g[:, t].exp()[..., None, None]
            recalled = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
            state = state + k[:, t, :, :, None] * (beta[:, t, :, None] * (v[:, t] - recalled))[:, :, None, :]
            outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]))
        return torch.stack(outputs, dim=1).to(out_dtype)
