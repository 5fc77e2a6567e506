"""Float64 truth of level3/024_efficientnet_b2."""

from kcbench.formulas import batch_norm, convolve, linear, relu, sigmoid

ACCURACY = 1e-5
"""Of two samples, batch normalization divides a difference by its own size, which amplifies the rounding of float64."""

STRIDES = (1, 2, 2, 2, 1)


def forward(x, *, params, init):
    def normed(value, conv, bn, **options):
        return batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])

    x = relu(normed(x, "conv1", "bn1", stride=2, padding=1))
    for number, stride in enumerate(STRIDES, 1):
        name = f"mbconv{number}"
        x = relu(normed(x, f"{name}.0", f"{name}.1"))
        x = relu(normed(x, f"{name}.3", f"{name}.4", stride=stride, padding=1, groups=x.shape[1]))
        x = x.sum(dim=(2, 3), keepdim=True) / x[0, 0].numel()
        x = relu(convolve(x, params[f"{name}.7.weight"]))
        x = sigmoid(convolve(x, params[f"{name}.9.weight"]))
        x = normed(x, f"{name}.11", f"{name}.12")
    x = relu(normed(x, "conv_final", "bn_final"))
    return linear(x[:, :, 0, 0], params["fc.weight"], params["fc.bias"])
