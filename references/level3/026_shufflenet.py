"""Float64 truth of level3/026_shufflenet: channels are shuffled by their numbers."""

import math

import torch

from kcbench.formulas import batch_norm, convolve, linear, relu, windows

ACCURACY = 1e-9
"""Statistics of few values, layer after layer, amplify the rounding of float64."""

GROUPS = 3
REPEATS = (3, 7, 3)


def _shuffled(x):
    width = x.shape[1] // GROUPS
    return x[:, torch.tensor([group * width + channel for channel in range(width) for group in range(GROUPS)])]


def forward(x, *, params, init):
    def normed(value, conv, bn, **options):
        return batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])

    x = relu(normed(x, "conv1", "bn1", stride=2, padding=1))
    x = windows(x, 3, stride=2, padding=1, border=-math.inf).amax(dim=-1)
    for name in (f"stage{stage}.{number}" for stage, count in enumerate(REPEATS, 2) for number in range(count)):
        y = relu(normed(x, f"{name}.conv1", f"{name}.bn1", groups=GROUPS))
        y = _shuffled(normed(y, f"{name}.conv2", f"{name}.bn2", padding=1, groups=y.shape[1]))
        y = relu(normed(y, f"{name}.conv3", f"{name}.bn3", groups=GROUPS))
        x = y + (normed(x, f"{name}.shortcut.0", f"{name}.shortcut.1") if f"{name}.shortcut.0.weight" in params else x)
    x = relu(normed(x, "conv5", "bn5")).flatten(2)
    return linear(x.sum(dim=2) / x.shape[2], params["fc.weight"], params["fc.bias"])
