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


class Block(nn.Module):
    def __init__(self, width, side, heads, window, shift, mlp_ratio):
        super().__init__()
        self.side, self.heads, self.window, self.shift = side, heads, window, shift
        self.norm1 = nn.LayerNorm(width)
        self.spatial_mlp = nn.Conv1d(heads * window**2, heads * window**2, 1, groups=heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, int(width * mlp_ratio))

    def forward(self, x):
        x = x + self.mixed(self.norm1(x).unflatten(1, (self.side, self.side))).flatten(1, 2)
        return x + self.mlp(self.norm2(x))

    def mixed(self, image):
        window, before = self.window, self.window - self.shift
        if self.shift:
            image = F.pad(image, (0, 0, before, self.shift, before, self.shift))
        parts = image.unflatten(3, (self.heads, -1)).unflatten(2, (-1, window)).unflatten(1, (-1, window))
        parts = parts.permute(0, 1, 3, 5, 2, 4, 6)
        mixed = self.spatial_mlp(parts.reshape(-1, self.heads * window**2, parts.shape[-1])).reshape(parts.shape)
        image = mixed.permute(0, 1, 4, 2, 5, 3, 6).reshape(image.shape)
        return image[:, before : -self.shift, before : -self.shift] if self.shift else image


class PatchMerging(nn.Module):
    def __init__(self, width, side):
        super().__init__()
        self.side = side
        self.reduction = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(4 * width)

    def forward(self, x):
        x = x.unflatten(1, (self.side, self.side))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], dim=-1).flatten(1, 2)
        return self.reduction(self.norm(x))


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
    """A hierarchy of linear maps over windows of an image and perceptrons over its channels, in four stages.

    x_0 = layer_norm(conv4x4(image)); block: a = x + unwindow(W window(layer_norm(x))) per head, b = a + U gelu(V layer_norm(a));
    windows of 7 x 7 tokens, in every other block shifted by 3 and filled with zeros;
    between stages linear(layer_norm(2 x 2 tokens side by side)); y = head(mean over tokens of layer_norm(x_last))
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
