# redteam: task=level4/gated_delta_rule
# redteam: kind=broken
# redteam: defect=nan_on_extremes
# redteam: expect=PRC-01.value,CMP-03.shape
# redteam: note=splits decay ratios into exp(sum) exp(-sum) over the whole sequence, stored in the input dtype: overflows
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        out_dtype = v.dtype
        q, k, v, g, beta = (tensor.transpose(1, 2) for tensor in (q, k, v, g, beta))
        total = g.float().cumsum(-1)
        down = (k.float() * total.exp()[..., None]).to(out_dtype).float()
        up = (k.float() * (-total).exp()[..., None]).to(out_dtype).float()
        read = q.float() * q.shape[-1] ** -0.5 * total.exp()[..., None]
        steps = torch.eye(total.shape[-1], device=q.device)
        mixing = (beta.float()[..., None] * (down @ up.mT)).tril(-1) + steps
        values = torch.linalg.solve_triangular(mixing, beta.float()[..., None] * v.float(), upper=False, unitriangular=True)
        return ((read @ up.mT).tril() @ values).transpose(1, 2).to(out_dtype)
