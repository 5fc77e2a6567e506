"""The grader's side of tensors on the wire: bytes, digests, constructor arguments."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any

from torch import Tensor

from kcbench.runtime.worker import frames


def named(tensor: Tensor) -> frames.Named:
    """Dtype, shape and bytes of a CPU tensor without a copy; the tensor must outlive the result and be contiguous.

    Raises:
        ValueError: It is not on the CPU, not contiguous, or of a dtype that cannot travel.
    """
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in frames.ITEMSIZE or tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise ValueError(f"a {dtype} tensor on {tensor.device} with strides {tuple(tensor.stride())} cannot be sent")
    shape = tuple(tensor.shape)
    nbytes = math.prod(shape) * frames.ITEMSIZE[dtype]
    return dtype, shape, (ctypes.c_ubyte * nbytes).from_address(tensor.data_ptr()) if nbytes else b""


class Digests:
    """Digests of tensors, remembered as long as a tensor lives and is not written to."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Tensor], int, str]] = {}

    def of(self, tensor: Tensor) -> str:
        """The digest of a tensor's dtype, shape and bytes."""
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] == tensor._version:
            return known[2]
        plain = contiguous(tensor)
        digest = frames.digest([named(plain)])
        if len(self._known) > 512:
            self._known = {key: item for key, item in self._known.items() if item[0]() is not None}
        self._known[id(tensor)] = (weakref.ref(tensor), tensor._version, digest)
        return digest


def contiguous(tensor: Tensor) -> Tensor:
    """The tensor itself where it can be sent as it is, else a copy that can."""
    return tensor.detach().cpu().contiguous()


def encode_init(items: tuple[Any, ...]) -> list[Any]:
    """Constructor arguments as JSON that keeps tuples and dicts apart from lists.

    Raises:
        TypeError: An argument is something else than numbers, text, None and containers of these.
    """
    return [_encode(item) for item in items]


def _encode(item: Any) -> Any:
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, list):
        return [_encode(value) for value in item]
    if isinstance(item, tuple):
        return {"tuple": [_encode(value) for value in item]}
    if isinstance(item, dict):
        return {"dict": [[_encode(key), _encode(value)] for key, value in item.items()]}
    raise TypeError(f"a constructor argument of type {type(item).__name__} cannot be sent to a worker")
