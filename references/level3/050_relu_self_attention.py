"""Float64 truth of level3/050_relu_self_attention: scores of later tokens are left out by their positions."""

import math

import torch

from kcbench.formulas import linear, relu


def forward(x, *, params, init):
    batch, length, width = x.shape
    heads = init[1]
    projected = linear(x, params["c_attn.weight"], params["c_attn.bias"])
    q, k, v = projected.reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(width // heads)
    earlier = torch.arange(length)[:, None] >= torch.arange(length)
    weights = relu(torch.where(earlier, scores, torch.zeros_like(scores)))
    return torch.einsum("bhij,bhjd->bihd", weights, v).reshape(batch, length, width)
