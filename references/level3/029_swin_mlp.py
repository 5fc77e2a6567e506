"""Float64 truth of level3/029_swin_mlp: window by window."""

import torch

from kcbench.formulas import convolve, gelu, layer_norm, linear

HEADS = (3, 6, 12, 24)
DEPTHS = (2, 2, 6, 2)
WINDOW = 7
SHIFT = 3


def _mixed(image, weight, bias, heads, shift):
    """Linear maps of the tokens of each window, one for each head, over an image with zeros around it where it is shifted."""
    batch, side, _, width = image.shape
    before = WINDOW - shift if shift else 0
    total = side + before + shift
    padded = image.new_zeros(batch, total, total, width)
    padded[:, before : before + side, before : before + side] = image
    weight, bias = weight.reshape(heads, WINDOW**2, WINDOW**2), bias.reshape(heads, WINDOW**2).T
    rows = []
    for row in padded.split(WINDOW, dim=1):
        parts = []
        for window in row.split(WINDOW, dim=2):
            tokens = window.reshape(batch, WINDOW**2, heads, -1)
            mixed = torch.einsum("hoi,bihc->bohc", weight, tokens) + bias[:, :, None]
            parts.append(mixed.reshape(window.shape))
        rows.append(torch.cat(parts, dim=2))
    return torch.cat(rows, dim=1)[:, before : before + side, before : before + side]


def forward(x, *, params, init):
    def affine(value, name):
        return linear(value, params[f"{name}.weight"], params.get(f"{name}.bias"))

    def normed(value, name):
        return layer_norm(value, 1, params[f"{name}.weight"], params[f"{name}.bias"])

    x = convolve(x, params["patch_embed.proj.weight"], params["patch_embed.proj.bias"], stride=4).permute(0, 2, 3, 1)
    x = normed(x, "patch_embed.norm")
    for stage, (heads, depth) in enumerate(zip(HEADS, DEPTHS, strict=True)):
        for number in range(depth):
            name = f"layers.{stage}.blocks.{number}"
            shift = SHIFT if number % 2 and x.shape[1] > WINDOW else 0
            weight, bias = params[f"{name}.spatial_mlp.weight"], params[f"{name}.spatial_mlp.bias"]
            x = x + _mixed(normed(x, f"{name}.norm1"), weight, bias, heads, shift)
            hidden = gelu(affine(normed(x, f"{name}.norm2"), f"{name}.mlp.fc1"))
            x = x + affine(hidden, f"{name}.mlp.fc2")
        if stage < len(DEPTHS) - 1:
            name = f"layers.{stage}.downsample"
            x = torch.cat([x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)], dim=-1)
            x = affine(normed(x, f"{name}.norm"), f"{name}.reduction")
    return affine(normed(x, "norm").sum(dim=(1, 2)) / x[0, ..., 0].numel(), "head")
