"""Float64 truth of level3/031_vision_attention."""

from kcbench.formulas import layer_norm, multihead_attention


def forward(x, *, params, init):
    tokens = x.flatten(2).permute(2, 0, 1)
    attention = {name.removeprefix("attn."): value for name, value in params.items() if name.startswith("attn.")}
    y = tokens + multihead_attention(tokens, attention, heads=init[1])
    return layer_norm(y, 1, params["norm.weight"], params["norm.bias"]).permute(1, 2, 0).reshape(x.shape)
