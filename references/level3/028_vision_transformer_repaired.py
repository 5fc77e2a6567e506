"""Float64 truth of level3/028_vision_transformer_repaired: pixels are sorted into patches by their coordinates."""

import torch

from kcbench.formulas import gelu, linear, transformer_encoder_layer


def forward(img, *, params, init):
    size, patch, _, _, depth, heads = init[:6]
    batch, channels = img.shape[:2]
    side = size // patch
    # Rows of as many numbers as an image patch has, taken from the patches of one channel after another.
    patches = img.reshape(batch, channels, side, patch, side, patch).transpose(3, 4).reshape(batch, side * side, -1)
    x = linear(patches, params["patch_to_embedding.weight"], params["patch_to_embedding.bias"])
    x = torch.cat([params["cls_token"].expand(batch, -1, -1), x], dim=1) + params["pos_embedding"]
    x = x.transpose(0, 1)
    for number in range(depth):
        prefix = f"transformer.layers.{number}."
        layer = {name.removeprefix(prefix): value for name, value in params.items() if name.startswith(prefix)}
        x = transformer_encoder_layer(x, layer, heads=heads)
    hidden = gelu(linear(x[0], params["mlp_head.0.weight"], params["mlp_head.0.bias"]))
    return linear(hidden, params["mlp_head.3.weight"], params["mlp_head.3.bias"])
