"""Float64 truth of level3/023_efficientnet_b1."""

import torch

from kcbench.formulas import batch_norm, convolve, linear, relu

ACCURACY = 1e-9
"""Statistics of few values, layer after layer, amplify the rounding of float64."""

STRIDES = (1, 2, 2, 2, 1, 2, 1)


def _relu6(x):
    return torch.minimum(relu(x), x.new_full((), 6.0))


def forward(x, *, params, init):
    def normed(value, conv, bn, **options):
        return batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])

    x = relu(normed(x, "conv1", "bn1", stride=2, padding=1))
    for number, stride in enumerate(STRIDES, 1):
        name = f"mbconv{number}"
        x = _relu6(normed(x, f"{name}.0", f"{name}.1"))
        x = _relu6(normed(x, f"{name}.3", f"{name}.4", stride=stride, padding=1, groups=x.shape[1]))
        x = normed(x, f"{name}.6", f"{name}.7")
    x = relu(normed(x, "conv2", "bn2")).flatten(2)
    return linear(x.sum(dim=2) / x.shape[2], params["fc.weight"], params["fc.bias"])
