"""Float64 truth of level2/067_conv2d_gelu_global_mean."""

from kcbench.formulas import convolve, gelu


def forward(x, *, params, init):
    return gelu(convolve(x, params["conv.weight"], params["conv.bias"])).flatten(2).mean(dim=2)
