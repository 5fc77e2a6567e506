"""Float64 truth of level3/011_vgg16: windows spread out, of which a pooling takes the largest."""

from kcbench.formulas import convolve, linear, relu, windows


def forward(x, *, params, init):
    for number in range(31):
        name = f"features.{number}"
        if f"{name}.weight" in params:
            x = relu(convolve(x, params[f"{name}.weight"], params[f"{name}.bias"], padding=1))
        elif f"features.{number - 1}.weight" not in params:
            x = windows(x, 2).amax(dim=-1)
    x = x.flatten(1)
    for number in (0, 3):
        x = relu(linear(x, params[f"classifier.{number}.weight"], params[f"classifier.{number}.bias"]))
    return linear(x, params["classifier.6.weight"], params["classifier.6.bias"])
