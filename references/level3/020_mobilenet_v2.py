"""Float64 truth of level3/020_mobilenet_v2."""

import torch

from kcbench.formulas import batch_norm, convolve, linear, relu

ACCURACY = 1e-8
"""Statistics of few values, layer after layer, amplify the rounding of float64."""

STRIDES = (1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)


def _relu6(x):
    return torch.minimum(relu(x), x.new_full((), 6.0))


def forward(x, *, params, init):
    def normed(value, number, prefix="features", **options):
        y = convolve(value, params[f"{prefix}.{number}.weight"], **options)
        return batch_norm(y, params[f"{prefix}.{number + 1}.weight"], params[f"{prefix}.{number + 1}.bias"])

    x = _relu6(normed(x, 0, stride=2, padding=1))
    for place, stride in enumerate(STRIDES, 3):
        prefix, number = f"features.{place}", 0
        if f"{prefix}.6.weight" in params:
            x, number = _relu6(normed(x, 0, prefix)), 3
        x = _relu6(normed(x, number, prefix, stride=stride, padding=1, groups=x.shape[1]))
        x = normed(x, number + 3, prefix)
    x = _relu6(normed(x, 3 + len(STRIDES))).flatten(2)
    return linear(x.sum(dim=2) / x.shape[2], params["classifier.1.weight"], params["classifier.1.bias"])
