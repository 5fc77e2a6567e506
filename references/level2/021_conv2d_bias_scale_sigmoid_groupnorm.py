"""Float64 truth of level2/021_conv2d_bias_scale_sigmoid_groupnorm."""

from kcbench.formulas import convolve, group_norm, sigmoid


def forward(x, *, params, init):
    y = convolve(x, params["conv.weight"], params["conv.bias"])
    y = sigmoid((y + params["bias"]) * params["scale"])
    return group_norm(y, init[3], params["group_norm.weight"], params["group_norm.bias"])
