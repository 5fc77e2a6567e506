"""Frames: a JSON header and raw tensor bytes over a stream socket.

Both ends use this file and neither trusts the other: a frame is a fixed prefix (magic, header size, payload size), a JSON object
that lists its tensors, and the tensors' bytes in that order. Nothing is unpickled. Standard library only.
"""

from __future__ import annotations

import math
import socket
import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from json import dumps, loads
from typing import Any, Protocol

MAGIC = b"KCB\x01"
PREFIX = struct.Struct("!4sIQ")
MAX_HEADER = 8 << 20
MAX_PAYLOAD = 2 << 30
MAX_TENSORS = 4096
MAX_DIMS = 64

ITEMSIZE: Mapping[str, int] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "complex64": 8,
    "complex128": 16,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
}
"""The dtypes that may travel, with the bytes of one element."""

Buffer = Any
"""Anything with the buffer protocol and an item size of one byte (``collections.abc.Buffer`` needs Python 3.12)."""

Named = tuple[str, Sequence[int], Buffer]
"""A tensor to send: dtype name, shape, bytes."""


class FrameError(Exception):
    """Bytes that are no frame, or a frame that contradicts itself."""


class Socket(Protocol):
    """The part of a socket that frames need."""

    def recv_into(self, buffer: memoryview, /) -> int: ...


@dataclass(frozen=True)
class Frame:
    """A frame as received."""

    header: dict[str, Any]
    tensors: tuple[bytearray, ...] = ()
    """The bytes of each record of ``header["tensors"]``."""

    def record(self, index: object) -> tuple[str, tuple[int, ...], bytearray]:
        """Dtype name, shape and bytes of a tensor by index; FrameError where there is none."""
        if type(index) is not int or not 0 <= index < len(self.tensors):
            raise FrameError(f"no tensor {index!r}")
        item = self.header["tensors"][index]
        return item["dtype"], tuple(item["shape"]), self.tensors[index]


def record_bytes(item: object) -> int:
    """The size in bytes that a tensor record declares, after a check of its dtype, its shape and its own ``nbytes``."""
    if not isinstance(item, dict):
        raise FrameError("a tensor record is not an object")
    shape: Any = item.get("shape")
    dtype = item.get("dtype")
    if not isinstance(dtype, str) or dtype not in ITEMSIZE:
        raise FrameError(f"dtype {str(dtype)[:40]!r} may not travel")
    if not isinstance(shape, list) or len(shape) > MAX_DIMS:
        raise FrameError("a tensor record has no usable shape")
    if not all(_is_size(size) for size in shape):
        raise FrameError("a tensor record has an impossible size")
    nbytes = math.prod(shape) * ITEMSIZE[dtype]
    if type(item.get("nbytes")) is not int or item["nbytes"] != nbytes:
        raise FrameError("a tensor record's bytes differ from its shape")
    return nbytes


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 48


def encode(header: Mapping[str, Any], tensors: Iterable[Named] = ()) -> list[Buffer]:
    """The buffers of one frame, for :class:`Writer`; FrameError where the frame would be too large."""
    items = list(tensors)
    sizes = [math.prod(shape) * ITEMSIZE[dtype] for dtype, shape, _ in items]
    records = [{"dtype": d, "shape": list(s), "nbytes": size} for (d, s, _), size in zip(items, sizes, strict=True)]
    payload = sum(sizes)
    body = dumps({**header, "tensors": records}, separators=(",", ":")).encode()
    if len(body) > MAX_HEADER or payload > MAX_PAYLOAD or len(items) > MAX_TENSORS:
        raise FrameError(f"a frame of {len(body)} + {payload} bytes is too large")
    return [PREFIX.pack(MAGIC, len(body), payload) + body, *(data for _, _, data in items)]


class Reader:
    """Reads frames off a socket, blocking or not, and refuses the first byte that cannot belong to one."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self._stage = "prefix"
        self._buffer = bytearray(PREFIX.size)
        self._filled = 0
        self._payload = 0
        self._header: dict[str, Any] = {}
        self._tensors: list[bytearray] = []
        self._next = 0

    @property
    def idle(self) -> bool:
        """True between frames."""
        return self._stage == "prefix" and self._filled == 0

    def read(self, sock: Socket) -> Frame | None:
        """Read once; the frame where this completed one.

        Raises:
            EOFError: The other side has closed.
            FrameError: The bytes are not a frame.
            BlockingIOError: A non-blocking socket has nothing to read.
        """
        count = sock.recv_into(memoryview(self._buffer)[self._filled :])
        if count == 0:
            raise EOFError("closed")
        self._filled += count
        while self._filled == len(self._buffer):
            if self._advance():
                frame = Frame(self._header, tuple(self._tensors))
                self._restart()
                return frame
        return None

    def _advance(self) -> bool:
        """Take the full buffer and set up the next one; True when the frame is complete."""
        if self._stage == "prefix":
            magic, header, self._payload = PREFIX.unpack(self._buffer)
            if magic != MAGIC:
                raise FrameError("no frame begins like that")
            if header > MAX_HEADER or self._payload > MAX_PAYLOAD or header < 2:
                raise FrameError("a frame declares impossible sizes")
            self._stage, self._buffer = "header", bytearray(header)
        elif self._stage == "header":
            self._header = _parse(self._buffer)
            sizes = [record_bytes(item) for item in self._header["tensors"]]
            if sum(sizes) != self._payload:
                raise FrameError("the payload differs from the tensors declared")
            self._tensors = [bytearray(size) for size in sizes]
            self._stage = "tensors"
            self._buffer = bytearray()
        if self._stage == "tensors":
            while self._next < len(self._tensors):
                self._buffer = self._tensors[self._next]
                self._next += 1
                if self._buffer:
                    break
            else:
                if not self._buffer or self._filled == len(self._buffer):
                    return True
        self._filled = 0
        return False


def _parse(body: bytearray) -> dict[str, Any]:
    try:
        header = loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError("a header is not JSON") from error
    if not isinstance(header, dict):
        raise FrameError("a header is not an object")
    records = header.setdefault("tensors", [])
    if not isinstance(records, list) or len(records) > MAX_TENSORS:
        raise FrameError("a header has no usable list of tensors")
    return header


class Writer:
    """Sends the buffers of one frame, in as many steps as the socket needs."""

    def __init__(self, buffers: Iterable[Buffer]) -> None:
        views: Iterable[memoryview[int]] = (memoryview(buffer) for buffer in buffers)
        self._views = deque(view for view in views if view.nbytes)

    def write(self, sock: socket.socket) -> bool:
        """Send once; True when everything is sent. BlockingIOError where a non-blocking socket is full."""
        if self._views:
            sent = sock.sendmsg([self._views[i] for i in range(min(len(self._views), 64))])
            while self._views and sent >= self._views[0].nbytes:
                sent -= self._views.popleft().nbytes
            if sent:
                self._views[0] = self._views[0][sent:]
        return not self._views


def receive(sock: socket.socket, reader: Reader | None = None) -> Frame:
    """The next frame from a blocking socket."""
    reader = reader or Reader()
    while True:
        frame = reader.read(sock)
        if frame is not None:
            return frame


def send(sock: socket.socket, header: Mapping[str, Any], tensors: Iterable[Named] = ()) -> None:
    """Send one frame over a blocking socket."""
    writer = Writer(encode(header, tensors))
    while not writer.write(sock):
        pass


def digest(tensors: Iterable[Named]) -> str:
    """SHA-256 over dtypes, shapes and bytes: what the two sides compare, and how parameters are named on the wire."""
    state = sha256()
    for dtype, shape, data in tensors:
        state.update(f"{dtype}{tuple(shape)};".encode())
        state.update(data)
    return state.hexdigest()
