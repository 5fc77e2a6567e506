"""Float64 truth of level3/030_swin_transformer_v2: window by window, tokens being told apart by their coordinates."""

import torch

from kcbench.formulas import convolve, gelu, layer_norm, linear, relu, sigmoid, softmax

HEADS = (3, 6, 12, 24)
DEPTHS = (2, 2, 6, 2)
WINDOW = 7
SHIFT = 3


def _unit(v):
    return v / torch.maximum((v * v).sum(dim=-1, keepdim=True).sqrt(), v.new_full((), 1e-12))


def _attended(image, params, heads, shift):
    """Attention among the tokens of each window of an image that is rolled by a shift."""
    batch, side, _, width = image.shape
    image = image.roll((-shift, -shift), dims=(1, 2))
    place = torch.arange(WINDOW**2)
    place = torch.stack([place // WINDOW, place % WINDOW], dim=1)
    offset = place[:, None] - place + WINDOW - 1
    hidden = relu(linear(params["relative_coords_table"][0], params["cpb_mlp.0.weight"], params["cpb_mlp.0.bias"]))
    position = 16 * sigmoid(linear(hidden, params["cpb_mlp.2.weight"]))[offset[..., 0], offset[..., 1]].permute(2, 0, 1)
    scale = torch.minimum(params["logit_scale"], image.new_full((), 100.0).log()).exp()
    bias = torch.cat([params["q_bias"], torch.zeros_like(params["q_bias"]), params["v_bias"]])
    rows = []
    for top in range(0, side, WINDOW):
        parts = []
        for left in range(0, side, WINDOW):
            window = image[:, top : top + WINDOW, left : left + WINDOW]
            tokens = linear(window.reshape(batch, WINDOW**2, width), params["qkv.weight"], bias)
            q, k, v = tokens.reshape(batch, WINDOW**2, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            # Rolling brought the first rows and columns of the image beside its last ones.
            wrapped = place + torch.tensor([top, left]) >= side - shift
            apart = (wrapped[:, None] != wrapped).any(dim=-1)
            scores = torch.einsum("bhid,bhjd->bhij", _unit(q), _unit(k)) * scale + position - 100.0 * apart
            mixed = torch.einsum("bhij,bhjd->bihd", softmax(scores, -1), v).reshape(batch, WINDOW**2, width)
            parts.append(linear(mixed, params["proj.weight"], params["proj.bias"]).reshape(window.shape))
        rows.append(torch.cat(parts, dim=2))
    return torch.cat(rows, dim=1).roll((shift, shift), dims=(1, 2))


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
            prefix = f"{name}.attn."
            own = {key.removeprefix(prefix): value for key, value in params.items() if key.startswith(prefix)}
            x = x + normed(_attended(x, own, heads, shift), f"{name}.norm1")
            x = x + normed(affine(gelu(affine(x, f"{name}.mlp.fc1")), f"{name}.mlp.fc2"), f"{name}.norm2")
        if stage < len(DEPTHS) - 1:
            name = f"layers.{stage}.downsample"
            x = torch.cat([x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)], dim=-1)
            x = normed(affine(x, f"{name}.reduction"), f"{name}.norm")
    return affine(normed(x, "norm").sum(dim=(1, 2)) / x[0, ..., 0].numel(), "head")
