"""Float64 truth of level3/022_efficientnet_b0."""

import torch

from kcbench.formulas import batch_norm, convolve, linear, relu

ACCURACY = 1e-9
"""Statistics of few values, layer after layer, amplify the rounding of float64."""

STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 2, 1, 1, 1)


def _relu6(x):
    return torch.minimum(relu(x), x.new_full((), 6.0))


def forward(x, *, params, init):
    def normed(value, conv, bn, **options):
        return batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])

    x = relu(normed(x, "conv1", "bn1", stride=2, padding=1))
    for number, stride in enumerate(STRIDES):
        expand, depthwise, project = (f"blocks.{number}.{part}_conv" for part in ("expand", "depthwise", "project"))
        y = _relu6(normed(x, f"{expand}.0", f"{expand}.1")) if f"{expand}.0.weight" in params else x
        padding = params[f"{depthwise}.0.weight"].shape[-1] // 2
        y = _relu6(normed(y, f"{depthwise}.0", f"{depthwise}.1", stride=stride, padding=padding, groups=y.shape[1]))
        y = normed(y, f"{project}.0", f"{project}.1")
        x = y + x if y.shape == x.shape else y
    x = relu(normed(x, "conv2", "bn2")).flatten(2)
    return linear(x.sum(dim=2) / x.shape[2], params["fc.weight"], params["fc.bias"])
