"""Float64 truth of level3/005_alexnet: windows spread out, of which a pooling takes the largest."""

from kcbench.formulas import convolve, linear, relu, windows


def forward(x, *, params, init):
    def conv(value, name, **options):
        return relu(convolve(value, params[f"{name}.weight"], params[f"{name}.bias"], **options))

    def largest(value):
        return windows(value, 3, stride=2).amax(dim=-1)

    x = largest(conv(x, "conv1", stride=4, padding=2))
    x = largest(conv(x, "conv2", padding=2))
    for name in ("conv3", "conv4", "conv5"):
        x = conv(x, name, padding=1)
    x = largest(x).flatten(1)
    for name in ("fc1", "fc2"):
        x = relu(linear(x, params[f"{name}.weight"], params[f"{name}.bias"]))
    return linear(x, params["fc3.weight"], params["fc3.bias"])
