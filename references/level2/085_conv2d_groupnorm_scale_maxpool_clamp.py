"""Float64 truth of level2/085_conv2d_groupnorm_scale_maxpool_clamp."""

from kcbench.formulas import clamp, convolve, group_norm, windows


def forward(x, *, params, init):
    groups, size, low, high = init[3], *init[5:]
    s = convolve(x, params["conv.weight"], params["conv.bias"])
    s = group_norm(s, groups, params["group_norm.weight"], params["group_norm.bias"]) * params["scale"]
    return clamp(windows(s, size).amax(dim=-1), low, high)
