"""Float64 truth of level2/003_conv_transpose3d_sum_layernorm_avgpool_gelu."""

from kcbench.formulas import convolve_transposed, gelu, layer_norm, windows


def forward(x, *, params, init):
    stride, padding, output_padding = init[3:6]
    y = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    y = layer_norm(y + params["sum_weight"], 1, params["norm.weight"], params["norm.bias"])
    places = windows(y, init[8])
    return gelu(places.sum(dim=-1) / places.shape[-1])
