"""Float64 truth of level2/006_conv3d_softmax_maxpool_maxpool."""

from kcbench.formulas import convolve, softmax, windows


def forward(x, *, params, init):
    y = softmax(convolve(x, params["conv.weight"], params["conv.bias"]), 1)
    return windows(windows(y, init[3]).amax(dim=-1), init[3]).amax(dim=-1)
