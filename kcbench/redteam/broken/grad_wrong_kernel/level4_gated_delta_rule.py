# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=right forward; the gradient through the state is cut every eight tokens
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        out_dtype = v.dtype
        q, k, v, g, beta = (tensor.float() for tensor in (q, k, v, g, beta))
        q = q * q.shape[-1] ** -0.5
        state = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
        outputs = []
        for t in range(q.shape[1]):
            if t % 8 == 0:
                state = state.detach()
            state = state * g[:, t].exp()[..., None, None]
            recalled = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
            update = beta[:, t, :, None] * (v[:, t] - recalled)
            state = state + k[:, t, :, :, None] * update[:, :, None, :]
            outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]))
        return torch.stack(outputs, dim=1).to(out_dtype)
