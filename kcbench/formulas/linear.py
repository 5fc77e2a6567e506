"""Affine maps."""

from __future__ import annotations

import torch
from torch import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y[..., o] = sum_i x[..., i] weight[o, i] + bias[o]``.

    Args:
        x: ``[..., in]``.
        weight: ``[out, in]``.
        bias: ``[out]``.

    Returns:
        ``[..., out]``.
    """
    y = torch.einsum("...i,oi->...o", x, weight)
    return y if bias is None else y + bias
