"""Float64 truth of level2/083_conv3d_groupnorm_min_clamp_dropout_repaired."""

from kcbench.formulas import clamp, convolve, group_norm


def forward(x, keep, *, params, init):
    groups, low, high, share = init[3:]
    s = group_norm(convolve(x, params["conv.weight"], params["conv.bias"]), groups, params["norm.weight"], params["norm.bias"])
    return clamp(s, low, high) * keep / (1 - share)
