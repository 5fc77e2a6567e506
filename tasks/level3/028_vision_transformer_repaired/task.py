import torch
import torch.nn as nn


class Model(nn.Module):
    """A transformer over patches of an image and a learnt token, whose output is classified.

    x_0 = [token, linear(patches)] + positions, x_(l+1) = encoder_l(x_l), y = W2 gelu(W1 x_last[token]);
    encoder(x) = layer_norm(a + W2 relu(W1 a)) with a = layer_norm(x + attention(x));
    each token attending to those of its image
    """

    def __init__(self, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, channels=3, dropout=0.1, emb_dropout=0.1):
        super().__init__()
        if image_size % patch_size:
            raise ValueError(f"an image of {image_size} pixels cannot be divided into patches of {patch_size}")
        self.patch_size = patch_size
        self.pos_embedding = nn.Parameter(torch.randn(1, (image_size // patch_size) ** 2 + 1, dim))
        self.patch_to_embedding = nn.Linear(channels * patch_size**2, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.dropout = nn.Dropout(emb_dropout)
        layer = nn.TransformerEncoderLayer(dim, heads, mlp_dim, dropout, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.mlp_head = nn.Sequential(nn.Linear(dim, mlp_dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_dim, num_classes))

    def forward(self, img):
        p = self.patch_size
        patches = img.unfold(2, p, p).unfold(3, p, p).reshape(img.shape[0], -1, p * p * img.shape[1])
        x = torch.cat((self.cls_token.expand(img.shape[0], -1, -1), self.patch_to_embedding(patches)), dim=1)
        x = self.transformer(self.dropout(x + self.pos_embedding))
        return self.mlp_head(x[:, 0])


image_size = 224
patch_size = 16
num_classes = 10
dim = 512
depth = 6
heads = 8
mlp_dim = 2048
channels = 3
dropout = 0.0
emb_dropout = 0.0
batch_size = 2


def get_inputs():
    return [torch.rand(batch_size, channels, image_size, image_size)]


def get_init_inputs():
    return [image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, channels, dropout, emb_dropout]
