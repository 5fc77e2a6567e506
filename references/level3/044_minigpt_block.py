"""Float64 truth of level3/044_minigpt_block: which keys a query sees is read from their positions."""

import torch

from kcbench.formulas import attend, gelu_tanh, layer_norm, linear


def forward(x, *, params, init):
    def affine(value, name):
        return linear(value, params[f"{name}.weight"], params[f"{name}.bias"])

    def normed(value, name):
        return layer_norm(value, 1, params[f"{name}.weight"], params[f"{name}.bias"])

    batch, length, width = x.shape
    projected = affine(normed(x, "ln_1"), "attn.c_attn").reshape(batch, length, 3, init[1], width // init[1])
    earlier = torch.arange(length)[:, None] >= torch.arange(length)
    y = attend(*projected.permute(2, 0, 3, 1, 4), allowed=earlier).transpose(1, 2).reshape(batch, length, width)
    x = x + affine(y, "attn.c_proj")
    return x + affine(gelu_tanh(affine(normed(x, "ln_2"), "mlp.c_fc")), "mlp.c_proj")
