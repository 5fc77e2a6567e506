"""Float64 truth of level2/089_conv_transpose3d_maxpool_softmax_swish_max."""

import math

from kcbench.formulas import convolve_transposed, silu, softmax, windows


def forward(x, *, params, init):
    stride, padding, more, size, step, border = init[3:]
    s = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=more,
    )
    s = softmax(windows(s, size, stride=step, padding=border, border=-math.inf).amax(dim=-1), 1)
    return silu(s - params["subtract"][:, None, None, None]).amax(dim=1)
