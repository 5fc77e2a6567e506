"""Float64 truth of level2/024_conv3d_min_softmax."""

from kcbench.formulas import convolve, softmax


def forward(x, *, params, init):
    return softmax(convolve(x, params["conv.weight"], params["conv.bias"]).amin(dim=init[3]), 1)
