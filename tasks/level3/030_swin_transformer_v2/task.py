import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class WindowAttention(nn.Module):
    def __init__(self, width, heads, window):
        super().__init__()
        self.heads = heads
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones(heads, 1, 1)))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(), nn.Linear(512, heads, bias=False))
        offsets = torch.arange(1 - window, window, dtype=torch.float32)
        offsets = torch.cartesian_prod(offsets, offsets).reshape(1, 2 * window - 1, 2 * window - 1, 2) / (window - 1) * 8
        self.register_buffer("relative_coords_table", torch.sign(offsets) * torch.log2(torch.abs(offsets) + 1.0) / 3)
        places = torch.cartesian_prod(torch.arange(window), torch.arange(window))
        apart = places[:, None] - places[None] + window - 1
        self.register_buffer("relative_position_index", apart[..., 0] * (2 * window - 1) + apart[..., 1])
        self.qkv = nn.Linear(width, width * 3, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(width))
        self.v_bias = nn.Parameter(torch.zeros(width))
        self.proj = nn.Linear(width, width)

    def forward(self, x, mask):
        bias = torch.cat([self.q_bias, torch.zeros_like(self.q_bias), self.v_bias])
        q, k, v = F.linear(x, self.qkv.weight, bias).unflatten(-1, (3, self.heads, -1)).permute(3, 0, 1, 4, 2, 5)
        scale = self.logit_scale.clamp(max=math.log(100)).exp()
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * scale
        table = 16 * torch.sigmoid(self.cpb_mlp(self.relative_coords_table)).flatten(0, 2)
        scores = scores + table[self.relative_position_index].permute(2, 0, 1)
        if mask is not None:
            scores = scores + mask[:, None]
        return self.proj((scores.softmax(dim=-1) @ v).transpose(2, 3).flatten(3))


class Block(nn.Module):
    def __init__(self, width, side, heads, window, shift, mlp_ratio):
        super().__init__()
        self.side, self.window, self.shift = side, window, shift
        self.norm1 = nn.LayerNorm(width)
        self.attn = WindowAttention(width, heads, window)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, int(width * mlp_ratio))
        mask = None
        if shift:
            part = (torch.arange(side) >= side - window).float() + (torch.arange(side) >= side - shift)
            regions = self.windows((3 * part[:, None] + part)[None, :, :, None])[0, :, :, 0]
            mask = torch.where(regions[:, None] == regions[:, :, None], 0.0, -100.0)
        self.register_buffer("attn_mask", mask)

    def windows(self, image):
        parts = image.unflatten(2, (-1, self.window)).unflatten(1, (-1, self.window))
        return parts.transpose(2, 3).flatten(3, 4).flatten(1, 2)

    def forward(self, x):
        image = x.unflatten(1, (self.side, self.side)).roll((-self.shift, -self.shift), dims=(1, 2))
        count = self.side // self.window
        parts = self.attn(self.windows(image), self.attn_mask).unflatten(2, (self.window, -1)).unflatten(1, (count, count))
        image = parts.transpose(2, 3).reshape(image.shape).roll((self.shift, self.shift), dims=(1, 2))
        x = x + self.norm1(image.flatten(1, 2))
        return x + self.norm2(self.mlp(x))


class PatchMerging(nn.Module):
    def __init__(self, width, side):
        super().__init__()
        self.side = side
        self.reduction = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(2 * width)

    def forward(self, x):
        x = x.unflatten(1, (self.side, self.side))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], dim=-1).flatten(1, 2)
        return self.norm(self.reduction(x))


class Stage(nn.Module):
    def __init__(self, width, side, depth, heads, window, mlp_ratio, last):
        super().__init__()
        shifts = [window // 2 * (number % 2) if side > window else 0 for number in range(depth)]
        self.blocks = nn.ModuleList(Block(width, side, heads, min(window, side), shift, mlp_ratio) for shift in shifts)
        self.downsample = None if last else PatchMerging(width, side)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x if self.downsample is None else self.downsample(x)


class PatchEmbed(nn.Module):
    def __init__(self, patch_size, in_chans, width):
        super().__init__()
        self.proj = nn.Conv2d(in_chans, width, patch_size, stride=patch_size)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.proj(x).flatten(2).transpose(1, 2))


class Model(nn.Module):
    """A hierarchy of attention among the tokens of windows of an image, in four stages.

    x_0 = layer_norm(conv4x4(image)); block: a = x + layer_norm(attention(x)), b = a + layer_norm(U gelu(V a));
    attention = softmax(s cos(q, k) + 16 sigmoid(b(i - j)) + mask) v per head and window, b(d) = W2 relu(W1 l(d));
    windows of 7 x 7 tokens, in every other block rolled by 3, with -100 between tokens that the roll brought together;
    between stages layer_norm(linear(2 x 2 tokens side by side)); y = head(mean over tokens of layer_norm(x_last))
    """

    def __init__(
        self,
        img_size=224,
        patch_size=4,
        in_chans=3,
        num_classes=1000,
        embed_dim=96,
        depths=(2, 2, 6, 2),
        num_heads=(3, 6, 12, 24),
        window_size=7,
        mlp_ratio=4.0,
    ):
        super().__init__()
        self.patch_embed = PatchEmbed(patch_size, in_chans, embed_dim)
        side, last = img_size // patch_size, len(depths) - 1
        self.layers = nn.ModuleList(
            Stage(embed_dim * 2**i, side // 2**i, depths[i], num_heads[i], window_size, mlp_ratio, i == last)
            for i in range(len(depths))
        )
        self.norm = nn.LayerNorm(embed_dim * 2**last)
        self.head = nn.Linear(embed_dim * 2**last, num_classes)

    def forward(self, x):
        x = self.patch_embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(dim=1))


batch_size = 10
image_size = 224
in_channels = 3


def get_inputs():
    return [torch.rand(batch_size, in_channels, image_size, image_size)]


def get_init_inputs():
    return []
