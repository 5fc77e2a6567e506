"""Decision rules: operations that jump, and selections that say which element they took.

A jump has no derivative for sigma to measure: noise that crosses it moves the result by its full height. Such results are kept as
they were without noise while sigma is drawn, and taken anew at eight times the noise to find the outputs that hang on one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule


@rule("eq ne lt le gt ge equal isclose allclose logical_and logical_or logical_xor logical_not")
@rule("floor ceil round trunc sign sgn signbit heaviside argmax argmin argsort searchsorted")
@rule("bucketize histc histogram nonzero nonzero_static count_nonzero any all unique_dim _unique2 unique_consecutive nextafter")
@rule("is_nonzero _local_scalar_dense")
def _decision(noise: Noise, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return noise.decide(lambda: op(*args, **kwargs))


@rule("max min")
def _extremum(noise: Noise, op: Callable[..., Any], x: Tensor, *args: Any, **kwargs: Any) -> Any:
    # max(x) and max(x, other) select values alone; max(x, dim) also returns where.
    if (not args and "dim" not in kwargs) or (args and isinstance(args[0], Tensor)):
        return op(x, *args, **kwargs)
    return _selection(noise, op, x, *args, **kwargs)


@rule("max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d")
@rule("fractional_max_pool3d sort topk kthvalue mode cummax cummin _cummax_helper median nanmedian")
def _selection(noise: Noise, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Selected values are exact; the indices, which backward follows, are a decision."""
    result = op(*args, **kwargs)
    if isinstance(result, Tensor):
        return result
    values, indices = result
    return values, noise.decide(lambda: indices)


@rule("threshold_backward")
def _threshold_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, x: Tensor, threshold: float) -> Tensor:
    passed = noise.decide(lambda: x > threshold)
    return torch.where(passed, grad, 0.0)


@rule("hardshrink")
def _hardshrink(noise: Noise, op: Callable[..., Tensor], x: Tensor, lambd: float = 0.5) -> Tensor:
    passed = noise.decide(lambda: x.abs() > lambd)
    return torch.where(passed, x, 0.0)


@rule("hardshrink_backward softshrink_backward")
def _shrink_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, x: Tensor, lambd: float) -> Tensor:
    passed = noise.decide(lambda: x.abs() > lambd)
    return torch.where(passed, grad, 0.0)
