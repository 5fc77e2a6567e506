import torch
import torch.nn as nn


class Model(nn.Module):
    """Self-attention among the pixels of an image, a sum with the image, and layer normalisation.

    y = layer_norm(x + attention(x)), pixels being the tokens and channels their entries
    """

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(embed_dim, num_heads)
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, x):
        tokens = x.flatten(2).permute(2, 0, 1)
        y = self.norm(self.attn(tokens, tokens, tokens)[0] + tokens)
        return y.permute(1, 2, 0).reshape(x.shape)


embed_dim = 128
num_heads = 4
batch_size = 2
num_channels = embed_dim
image_height = 128
image_width = 128


def get_inputs():
    return [torch.rand(batch_size, num_channels, image_height, image_width)]


def get_init_inputs():
    return [embed_dim, num_heads]
