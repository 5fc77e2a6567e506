"""Float64 truth of level3/045_unet_softmax: windows spread out, of which a pooling takes the largest."""

import torch

from kcbench.formulas import batch_norm, convolve, convolve_transposed, softmax, windows


def forward(x, *, params, init):
    def double(value, name):
        for number in (0, 3):
            conv, bn = f"{name}.double_conv.{number}", f"{name}.double_conv.{number + 1}"
            value = convolve(value, params[f"{conv}.weight"], params[f"{conv}.bias"], padding=1)
            value = softmax(batch_norm(value, params[f"{bn}.weight"], params[f"{bn}.bias"]), -1)
        return value

    encoded = []
    for level in range(1, 5):
        encoded.append(double(x, f"encoder{level}"))
        x = windows(encoded[-1], 2).amax(dim=-1)
    x = double(x, "bottleneck")
    for level in range(4, 0, -1):
        name = f"upconv{level}"
        x = convolve_transposed(x, params[f"{name}.weight"], params[f"{name}.bias"], stride=2)
        x = double(torch.cat([x, encoded[level - 1]], dim=1), f"decoder{level}")
    return convolve(x, params["final_conv.weight"], params["final_conv.bias"])
