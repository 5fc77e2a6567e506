"""Float64 truth of level3/019_mobilenet_v1."""

from kcbench.formulas import batch_norm, convolve, linear, relu, windows

ACCURACY = 1e-9
"""Statistics of few values, layer after layer, amplify the rounding of float64."""

STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)


def forward(x, *, params, init):
    def normed(value, block, number, **options):
        conv, bn = f"model.{block}.{number}", f"model.{block}.{number + 1}"
        return relu(
            batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])
        )

    x = normed(x, 0, 0, stride=2, padding=1)
    for block, stride in enumerate(STRIDES, 1):
        x = normed(normed(x, block, 0, stride=stride, padding=1, groups=x.shape[1]), block, 3)
    x = windows(x, 7).sum(dim=-1) / 49
    return linear(x.flatten(1), params["fc.weight"], params["fc.bias"])
