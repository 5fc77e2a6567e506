"""Attention: weights from products of queries and keys, and the mean of the values under them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from kcbench.formulas.activation import relu
from kcbench.formulas.linear import linear
from kcbench.formulas.normalization import layer_norm
from kcbench.formulas.softmax import softmax


def attend(q: Tensor, k: Tensor, v: Tensor, *, allowed: Tensor | None = None, scale: float | None = None) -> Tensor:
    """``softmax(scale q k^T) v`` over the keys.

    Args:
        q: ``[..., queries, width]``.
        k: ``[..., keys, width]``.
        v: ``[..., keys, values]``.
        allowed: Boolean, which keys a query may see; broadcasts to ``[..., queries, keys]``.
        scale: ``1 / sqrt(width)`` by default.
    """
    scores = torch.einsum("...id,...jd->...ij", q, k) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    return torch.einsum("...ij,...jd->...id", softmax(scores, -1), v)


def multihead_attention(x: Tensor, params: Mapping[str, Tensor], *, heads: int) -> Tensor:
    """Self-attention with the parameters of ``nn.MultiheadAttention``.

    Args:
        x: ``[time, batch, width]``.
        params: ``in_proj_weight``, ``in_proj_bias``, ``out_proj.weight``, ``out_proj.bias``.
        heads: Parts that the width is divided into.
    """
    time, batch, width = x.shape
    projected = linear(x, params["in_proj_weight"], params["in_proj_bias"]).reshape(time, batch, 3, heads, width // heads)
    q, k, v = projected.permute(2, 1, 3, 0, 4)
    mixed = attend(q, k, v).permute(2, 0, 1, 3).reshape(time, batch, width)
    return linear(mixed, params["out_proj.weight"], params["out_proj.bias"])


def transformer_encoder_layer(x: Tensor, params: Mapping[str, Tensor], *, heads: int, eps: float = 1e-5) -> Tensor:
    """``x = norm1(x + attention(x))``, then ``norm2(x + W2 relu(W1 x))``, as ``nn.TransformerEncoderLayer`` without dropout.

    Args:
        x: ``[time, batch, width]``.
        params: By the names of that module.
        heads: Of the attention.
        eps: Of the normalisations.
    """
    attention = {name.removeprefix("self_attn."): value for name, value in params.items() if name.startswith("self_attn.")}
    x = layer_norm(x + multihead_attention(x, attention, heads=heads), 1, params["norm1.weight"], params["norm1.bias"], eps=eps)
    hidden = relu(linear(x, params["linear1.weight"], params["linear1.bias"]))
    return layer_norm(
        x + linear(hidden, params["linear2.weight"], params["linear2.bias"]),
        1,
        params["norm2.weight"],
        params["norm2.bias"],
        eps=eps,
    )
