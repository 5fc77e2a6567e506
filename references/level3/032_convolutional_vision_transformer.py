"""Float64 truth of level3/032_convolutional_vision_transformer."""

import torch

from kcbench.formulas import convolve, linear, transformer_encoder_layer


def forward(x, *, params, init):
    conv = params["conv1.weight"]
    patches = convolve(x, conv, params["conv1.bias"], stride=conv.shape[-1]).flatten(1)
    token = params["cls_token"][0].expand(len(x), -1)
    x = torch.stack([token, linear(patches, params["linear_proj.weight"], params["linear_proj.bias"])])
    number = 0
    while f"transformer_layers.{number}.norm1.weight" in params:
        prefix = f"transformer_layers.{number}."
        layer = {name.removeprefix(prefix): value for name, value in params.items() if name.startswith(prefix)}
        x = transformer_encoder_layer(x, layer, heads=init[2])
        number += 1
    return linear(x[0], params["fc_out.weight"], params["fc_out.bias"])
