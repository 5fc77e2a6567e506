"""Float64 truth of level2/038_conv_transpose3d_avgpool_clamp_softmax_scale_repaired."""

import torch

from kcbench.formulas import convolve_transposed, softmax, windows


def forward(x, *, params, init):
    stride, padding, output_padding, size, low, high = init[3:]
    places = windows(x, size)
    y = convolve_transposed(
        places.sum(dim=-1) / places.shape[-1],
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    y = torch.minimum(torch.maximum(y, y.new_full((), low)), y.new_full((), high))
    flat = y.flatten(2)
    return flat.shape[2] * softmax(flat, 2).reshape(y.shape) * params["scale"]
