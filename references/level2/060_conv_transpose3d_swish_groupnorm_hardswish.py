"""Float64 truth of level2/060_conv_transpose3d_swish_groupnorm_hardswish."""

from kcbench.formulas import convolve_transposed, group_norm, hardswish, silu


def forward(x, *, params, init):
    stride, padding, groups, eps = init[3:]
    s = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    return hardswish(group_norm(silu(s), groups, params["group_norm.weight"], params["group_norm.bias"], eps=eps))
