"""Float64 truth of level3/008_resnet_basic_block."""

from kcbench.formulas import batch_norm, convolve, relu


def forward(x, *, params, init):
    def normed(value, conv, bn, **options):
        return batch_norm(convolve(value, params[f"{conv}.weight"], **options), params[f"{bn}.weight"], params[f"{bn}.bias"])

    stride = init[2]
    y = relu(normed(x, "conv1", "bn1", stride=stride, padding=1))
    y = normed(y, "conv2", "bn2", padding=1)
    return relu(y + normed(x, "downsample.0", "downsample.1", stride=stride))
