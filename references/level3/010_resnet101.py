"""Float64 truth of level3/010_resnet101."""

import math

from kcbench.formulas import batch_norm, convolve, linear, relu, windows

ACCURACY = 1e-8
"""Statistics of few values, layer after layer, amplify the rounding of float64."""


def forward(x, *, params, init):
    def normed(value, conv, bn, **options):
        return batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])

    x = relu(normed(x, "conv1", "bn1", stride=2, padding=3))
    x = windows(x, 3, stride=2, padding=1, border=-math.inf).amax(dim=-1)
    for layer, count in enumerate(init[0], 1):
        for number in range(count):
            name, stride = f"layer{layer}.{number}", 2 if layer > 1 and not number else 1
            y = relu(normed(x, f"{name}.conv1", f"{name}.bn1"))
            y = relu(normed(y, f"{name}.conv2", f"{name}.bn2", stride=stride, padding=1))
            y = normed(y, f"{name}.conv3", f"{name}.bn3")
            if f"{name}.downsample.0.weight" in params:
                x = normed(x, f"{name}.downsample.0", f"{name}.downsample.1", stride=stride)
            x = relu(x + y)
    return linear(x.flatten(2).sum(dim=2) / x[0, 0].numel(), params["fc.weight"], params["fc.bias"])
