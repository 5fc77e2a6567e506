"""The float64 twin: the task's own model evaluated in float64, where no independent reference was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from kcbench.numerics.stochastic.mode import CastMode

_FACTORIES = frozenset(
    getattr(torch, name)
    for name in ("zeros", "ones", "full", "empty", "rand", "randn", "eye", "linspace", "arange", "tensor", "normal")
)


class Factories(TorchFunctionMode):
    """Float32 tensors that a model makes without naming a dtype (states, masks) become float64; draws stay those of float32.

    The noise model looks after casts itself; :func:`widened` sees to both. A mode, unlike ``torch.set_default_dtype``, is seen by
    this thread only.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in _FACTORIES and isinstance(result, Tensor) and result.dtype is torch.float32:
            return result.to(torch.float64)
        return result


@contextmanager
def widened() -> Iterator[None]:
    """Within it, float32 does not come into being: factories make float64, and casts to narrower floats keep it."""
    with CastMode(), Factories():
        yield
