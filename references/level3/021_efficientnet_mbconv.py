"""Float64 truth of level3/021_efficientnet_mbconv."""

import torch

from kcbench.formulas import batch_norm, convolve, relu


def _relu6(x):
    return torch.minimum(relu(x), x.new_full((), 6.0))


def forward(x, *, params, init):
    in_channels, out_channels, kernel_size, stride, expand_ratio = init

    def normed(value, name, **options):
        y = convolve(value, params[f"{name}.0.weight"], **options)
        return batch_norm(y, params[f"{name}.1.weight"], params[f"{name}.1.bias"])

    y = x if expand_ratio == 1 else _relu6(normed(x, "expand_conv"))
    padding, hidden = (kernel_size - 1) // 2, in_channels * expand_ratio
    y = _relu6(normed(y, "depthwise_conv", stride=stride, padding=padding, groups=hidden))
    y = normed(y, "project_conv")
    return y + x if stride == 1 and in_channels == out_channels else y
