"""Bytes to tensors and back, memory layouts, and spans of storage.

Everything of torch that is needed after a submission was imported is bound to a name here, before it: a submission that patches
``torch`` afterwards changes its own results, not the way in which they are read.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import frames

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in frames.ITEMSIZE if hasattr(torch, name)}
NAMES: dict[torch.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}

empty = torch.empty
frombuffer = torch.frombuffer
as_strided = torch.as_strided
stride_of = Tensor.stride
detach = Tensor.detach
copy_ = Tensor.copy_
fill_ = Tensor.fill_
clone = Tensor.clone
requires_grad_ = Tensor.requires_grad_
to = Tensor.to

_set = Tensor.set_
_view = Tensor.view
_contiguous = Tensor.contiguous
_resolve_conj = Tensor.resolve_conj
_resolve_neg = Tensor.resolve_neg
_data_ptr = Tensor.data_ptr
_storage = Tensor.untyped_storage
_base: Any = torch._C.TensorBase
shape_of = _base.shape.__get__
dtype_of = _base.dtype.__get__
device_of = _base.device.__get__
requires_grad = _base.requires_grad.__get__
_layout_of = _base.layout.__get__
is_floating_point = Tensor.is_floating_point
element_size = Tensor.element_size
_is_complex = Tensor.is_complex
_float32, _uint8, _bool = torch.float32, torch.uint8, torch.bool
_set_grad_enabled = torch._C._set_grad_enabled
_is_grad_enabled = torch.is_grad_enabled
raw = torch._C.DisableTorchFunctionSubclass
_strided = torch.strided
_tensor = Tensor
_parameter = torch.nn.Parameter
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

PAD = 3
"""Elements before and after a tensor of layout ``offset``: an odd number, so that its first byte is not aligned to 16."""


class UnreadableError(Exception):
    """A tensor whose bytes cannot be read."""


@contextlib.contextmanager
def grad_mode(enabled: bool) -> Iterator[None]:
    """Switch autograd on or off, by the binding itself."""
    before = _is_grad_enabled()
    _set_grad_enabled(enabled)
    try:
        yield
    finally:
        _set_grad_enabled(before)


def from_bytes(dtype: str, shape: Sequence[int], data: bytearray) -> Tensor:
    """A CPU tensor over received bytes (not a copy)."""
    if not data:
        return empty(tuple(shape), dtype=DTYPES[dtype])
    return _view(frombuffer(data, dtype=DTYPES[dtype]), tuple(shape))


def memory(tensor: Tensor, nbytes: int) -> Any:
    """The bytes of a contiguous CPU tensor as a ctypes array over the same memory; the tensor must outlive it."""
    if nbytes == 0:
        return b""
    address = _data_ptr(tensor)
    if address == 0:
        raise UnreadableError("the tensor has no memory")
    return (ctypes.c_ubyte * nbytes).from_address(address)


class Host(NamedTuple):
    """A tensor's values on the host."""

    dtype: str
    shape: tuple[int, ...]
    tensor: Tensor
    nbytes: int

    def named(self) -> frames.Named:
        """What :func:`frames.digest` and :func:`frames.encode` take, without a copy."""
        return self.dtype, self.shape, memory(self.tensor, self.nbytes)


def host(tensor: Tensor) -> Host:
    """Dtype, shape and a contiguous CPU copy; the copy is the tensor itself where it already is one.

    Raises:
        UnreadableError: The tensor is sparse, on ``meta``, of a dtype that cannot travel, or not backed by memory.
    """
    with raw():
        if _layout_of(tensor) != _strided:
            raise UnreadableError(f"its layout is {_layout_of(tensor)}")
        if device_of(tensor).type == "meta":
            raise UnreadableError("it is on the meta device and has no values")
        dtype = NAMES.get(dtype_of(tensor))
        if dtype is None:
            raise UnreadableError(f"its dtype is {dtype_of(tensor)}")
        plain = _contiguous(to(_resolve_neg(_resolve_conj(detach(tensor))), "cpu"))
        shape = tuple(int(size) for size in shape_of(plain))
    return Host(dtype, shape, plain, math.prod(shape) * frames.ITEMSIZE[dtype])


def freeze(value: Host) -> frames.Named:
    """The same with the bytes copied out, so that later writes do not change them."""
    return value.dtype, value.shape, bytes(memory(value.tensor, value.nbytes))


def facts(tensor: Tensor) -> dict[str, Any]:
    """Device, strides and class name of a tensor as returned."""
    with raw():
        stride = [int(size) for size in stride_of(tensor)]
        return {"device": str(device_of(tensor)), "stride": stride, "type_name": class_name(tensor)}


def class_name(tensor: Tensor) -> str:
    """``Tensor`` and ``Parameter`` for these two classes only; a subclass that borrows their name is written with its module."""
    kind = type(tensor)
    name = str(kind.__name__)
    if kind is not _tensor and kind is not _parameter and name in ("Tensor", "Parameter"):
        return f"{kind.__module__}.{name}"[:200]
    return name[:200]


class Span(NamedTuple):
    """A range of addresses on a device."""

    device: str
    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        return self.device == other.device and self.start < other.end and other.start < self.end


def span(tensor: Tensor) -> Span | None:
    """The memory that a tensor's storage occupies; None where there is none."""
    try:
        with raw():
            storage = _storage(tensor)
            start, size = storage.data_ptr(), storage.nbytes()
            return Span(str(device_of(tensor)), start, start + size) if start and size else None
    except Exception:
        return None


def spoil(tensor: Tensor, byte: int | None = None) -> None:
    """Fill a contiguous tensor with bytes that no kernel may use: NaN, or large integers, or True."""
    if byte is None:
        byte = 0xFF if is_floating_point(tensor) or _is_complex(tensor) else 0x01 if dtype_of(tensor) == _bool else 0x7F
    fill_(_view(tensor, _uint8), byte)


class Placed:
    """An input on its device in its layout, with what is needed to see whether it was written to."""

    def __init__(self, name: str, value: Tensor, layout: str, device: torch.device) -> None:
        self.name = name
        shape, dtype = tuple(shape_of(value)), dtype_of(value)
        if layout == "transposed" and len(shape) == 1:
            layout = "strided"
        count = math.prod(shape)
        strides = _contiguous_strides(shape)
        size, offset = count, 0
        if layout == "offset":
            size, offset = count + 2 * PAD, PAD
        elif layout == "strided":
            size, strides = 2 * count, tuple(2 * stride for stride in strides)
        elif layout == "transposed" and len(shape) > 1:
            swapped = _contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
            strides = (*swapped[:-2], swapped[-1], swapped[-2])
        elif layout == "channels_last" and len(shape) > 2:
            inner = _contiguous_strides((shape[0], *shape[2:], shape[1]))
            strides = (inner[0], inner[-1], *inner[1:-1])
        if size == count and strides == _contiguous_strides(shape):
            # The received memory is that copy already, and the submission never sees it.
            self._before = _view(value, (size,))
        else:
            self._before = empty((size,), dtype=dtype)
            spoil(self._before)
            copy_(as_strided(self._before, shape, strides, offset), value)
        self.base = empty((size,), dtype=dtype, device=device)
        copy_(self.base, self._before)
        # A tensor of its own over the storage, not a view of the base: views behave differently in autograd.
        self.tensor = _set(empty((0,), dtype=dtype, device=device), _storage(self.base), offset, shape, strides)
        self._staged: Tensor | None = None
        self.nbytes = size * element_size(value)

    def mutated(self) -> bool:
        """Whether any byte of the input, or of the memory around it, differs from what was put there."""
        if not self.nbytes:
            return False
        after = host(self.base)
        address = _data_ptr(after.tensor)
        # A storage that was resized to nothing has no address left.
        return address == 0 or bool(_memcmp(address, _data_ptr(self._before), self.nbytes))

    def stage(self) -> None:
        """Keep a copy on the device, and spoil the input until :meth:`arrive`."""
        if self._staged is None:
            self._staged = clone(self.base)
        spoil(self.base)

    def arrive(self) -> None:
        """Bring the values, in the order of the current stream."""
        if self._staged is not None:
            copy_(self.base, self._staged)


def _contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def poison(device: torch.device, sizes: Sequence[int], fill: str = "nan", *, behind: Callable[[Tensor], None]) -> None:
    """Leave freed blocks of about these sizes full of NaN, 1e30 or 0, for ``torch.empty`` to find.

    Args:
        device: Where.
        sizes: Block sizes in bytes. Several of each are filled, since the call will ask for several.
        fill: ``nan``, ``huge`` or ``zero``.
        behind: What is done after each block was allocated.
    """
    blocks: list[Tensor] = []
    budget = 512 << 20
    # The C library looks for a block with room to align it: one of the size itself would be too small to be found again.
    slack = 256 if device.type == "cpu" else 0
    for size in sizes:
        for _ in range(4 if size <= 1 << 20 else 3 if size <= 64 << 20 else 1):
            budget -= size
            if size <= 0 or budget < 0:
                break
            block = empty((-(-(size + slack) // 4),), dtype=_float32, device=device)
            if fill == "huge":
                fill_(block, 1e30)
            else:
                spoil(block, 0xFF if fill == "nan" else 0)
            blocks.append(block)
            behind(block)
