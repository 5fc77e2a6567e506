"""Float64 truth of level3/043_mingpt_causal_attention: which keys a query sees is read from their positions."""

import torch

from kcbench.formulas import attend, linear


def forward(x, *, params, init):
    batch, length, width = x.shape
    projected = linear(x, params["c_attn.weight"], params["c_attn.bias"])
    q, k, v = projected.reshape(batch, length, 3, init[1], width // init[1]).permute(2, 0, 3, 1, 4)
    earlier = torch.arange(length)[:, None] >= torch.arange(length)
    y = attend(q, k, v, allowed=earlier).transpose(1, 2).reshape(batch, length, width)
    return linear(y, params["c_proj.weight"], params["c_proj.bias"])
