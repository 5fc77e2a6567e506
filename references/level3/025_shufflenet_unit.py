"""Float64 truth of level3/025_shufflenet_unit: channels are shuffled by their numbers."""

import torch

from kcbench.formulas import batch_norm, convolve, relu


def forward(x, *, params, init):
    in_channels, out_channels, groups = init
    mid_channels = out_channels // 4

    def normed(value, conv, bn, **options):
        return batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])

    y = relu(normed(x, "conv1", "bn1", groups=groups))
    y = normed(y, "conv2", "bn2", padding=1, groups=mid_channels)
    width = mid_channels // groups
    y = y[:, torch.tensor([group * width + channel for channel in range(width) for group in range(groups)])]
    y = relu(normed(y, "conv3", "bn3", groups=groups))
    return y + (x if in_channels == out_channels else normed(x, "shortcut.0", "shortcut.1"))
