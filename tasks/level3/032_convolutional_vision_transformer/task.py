import torch
import torch.nn as nn


class Model(nn.Module):
    """A transformer over two tokens: a learnt one, and a linear map of all patches of the image.

    x_0 = [token, linear(conv4x4(image))], x_(l+1) = encoder_l(x_l), y = fc(x_last[token]);
    encoder(x) = layer_norm(a + W2 relu(W1 a)) with a = layer_norm(x + attention(x))
    """

    def __init__(
        self,
        num_classes,
        embed_dim=512,
        num_heads=8,
        num_layers=6,
        mlp_ratio=4.0,
        patch_size=4,
        in_channels=3,
        image_size=32,
    ):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, embed_dim, patch_size, stride=patch_size)
        self.linear_proj = nn.Linear(embed_dim * (image_size // patch_size) ** 2, embed_dim)
        self.transformer_layers = nn.ModuleList(
            nn.TransformerEncoderLayer(embed_dim, num_heads, int(embed_dim * mlp_ratio), dropout=0.0, batch_first=True)
            for _ in range(num_layers)
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.fc_out = nn.Linear(embed_dim, num_classes)

    def forward(self, x):
        patches = self.linear_proj(self.conv1(x).flatten(1))
        x = torch.stack([self.cls_token[0].expand_as(patches), patches], dim=1)
        for layer in self.transformer_layers:
            x = layer(x)
        return self.fc_out(x[:, 0])


batch_size = 10
image_size = 32
embed_dim = 128
in_channels = 3
num_heads = 4
num_classes = 1000


def get_inputs():
    return [torch.rand(batch_size, in_channels, image_size, image_size)]


def get_init_inputs():
    return [num_classes, embed_dim, num_heads]
