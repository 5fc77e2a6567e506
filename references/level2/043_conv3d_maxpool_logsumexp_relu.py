"""Float64 truth of level2/043_conv3d_maxpool_logsumexp_relu."""

from kcbench.formulas import convolve, logsumexp, relu, windows


def forward(x, *, params, init):
    stride, padding = init[3:]
    y = convolve(x, params["conv.weight"], params["conv.bias"], stride=stride, padding=padding)
    return relu(logsumexp(windows(y, 2).amax(dim=-1), 1, keepdim=True))
