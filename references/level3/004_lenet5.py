"""Float64 truth of level3/004_lenet5: windows spread out, of which the pooling takes the largest."""

from kcbench.formulas import convolve, linear, relu, windows


def forward(x, *, params, init):
    for name in ("conv1", "conv2"):
        x = windows(relu(convolve(x, params[f"{name}.weight"], params[f"{name}.bias"])), 2).amax(dim=-1)
    x = x.flatten(1)
    for name in ("fc1", "fc2"):
        x = relu(linear(x, params[f"{name}.weight"], params[f"{name}.bias"]))
    return linear(x, params["fc3.weight"], params["fc3.bias"])
