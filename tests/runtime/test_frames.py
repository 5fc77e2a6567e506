from __future__ import annotations

import contextlib
import json
import math
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.runtime.worker import frames
from kcbench.runtime.worker.frames import ITEMSIZE, PREFIX, FrameError, Reader

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SHAPES = st.lists(st.integers(0, 5), max_size=3)


@st.composite
def tensors(draw: st.DrawFn) -> list[frames.Named]:
    found: list[frames.Named] = []
    for _ in range(draw(st.integers(0, 4))):
        dtype, shape = draw(st.sampled_from(sorted(ITEMSIZE))), draw(SHAPES)
        size = math.prod(shape) * ITEMSIZE[dtype]
        found.append((dtype, shape, draw(st.binary(min_size=size, max_size=size))))
    return found


class Bytes:
    """A socket that holds bytes and hands out a few at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step = data, step

    def recv_into(self, buffer: memoryview, /) -> int:
        size = min(self.step, len(buffer), len(self.data))
        buffer[:size] = self.data[:size]
        self.data = self.data[size:]
        return size


def read(data: bytes, step: int = 1 << 30) -> list[frames.Frame]:
    source, reader = Bytes(data, step), Reader()
    found: list[frames.Frame] = []
    while True:
        try:
            frame = reader.read(source)
        except EOFError:
            if not reader.idle:
                raise FrameError("cut off") from None
            return found
        if frame is not None:
            found.append(frame)


def packed(header: Any, payload: bytes = b"", *, magic: bytes = frames.MAGIC, declared: int | None = None) -> bytes:
    body = header if isinstance(header, bytes) else json.dumps(header).encode()
    return PREFIX.pack(magic, len(body), len(payload) if declared is None else declared) + body + payload


@given(st.lists(st.tuples(st.dictionaries(st.text(max_size=8), JSON, max_size=5), tensors()), max_size=3), st.integers(1, 40))
def test_frames_come_back_as_they_were_sent_however_they_are_cut(
    sent: list[tuple[dict[str, Any], list[frames.Named]]], step: int
) -> None:
    stream = b"".join(bytes(part) for header, items in sent for part in frames.encode(header, items))
    got = read(stream, step)
    assert len(got) == len(sent)
    for frame, (header, items) in zip(got, sent, strict=True):
        assert {key: value for key, value in frame.header.items() if key != "tensors"} == {
            k: v for k, v in header.items() if k != "tensors"
        }
        assert [frame.record(i) for i in range(len(items))] == [(dtype, tuple(shape), data) for dtype, shape, data in items]


@given(tensors(), st.data())
def test_a_changed_byte_of_the_frame_is_refused_or_changes_the_payload_only(
    items: list[frames.Named], data: st.DataObject
) -> None:
    stream = bytearray(b"".join(bytes(part) for part in frames.encode({"op": "x"}, items)))
    _, size, payload = PREFIX.unpack(stream[: PREFIX.size])
    where = data.draw(st.integers(0, PREFIX.size + size - 1))
    stream[where] ^= data.draw(st.integers(1, 255))
    try:
        got = read(bytes(stream))
    except FrameError:
        return
    # What is still a frame is consistent in itself: its records account for exactly the payload that came.
    assert [sum(map(len, frame.tensors)) for frame in got] == [payload]


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_no_frame(noise: bytes) -> None:
    with pytest.raises(FrameError):
        read(noise + b"\0" * PREFIX.size)


@pytest.mark.parametrize(
    "stream",
    [
        packed({}, magic=b"HTTP"),
        PREFIX.pack(frames.MAGIC, frames.MAX_HEADER + 1, 0),
        PREFIX.pack(frames.MAGIC, 2, frames.MAX_PAYLOAD + 1),
        PREFIX.pack(frames.MAGIC, 0, 0),
        packed(b"[]"),
        packed(b"{nonsense"),
        packed(b"[" * 100_000),
        packed(b'{"tensors": 3}'),
        packed({"tensors": [7]}),
        packed({}, b"four"),
        packed({"tensors": [{"dtype": "object", "shape": [1], "nbytes": 8}]}, b"\0" * 8),
        packed({"tensors": [{"dtype": "float32", "shape": [1], "nbytes": 8}]}, b"\0" * 8),
        packed({"tensors": [{"dtype": "float32", "shape": [2], "nbytes": 8}]}, b"\0" * 4),
        packed({"tensors": [{"dtype": "float32", "shape": [-1], "nbytes": -4}]}),
        packed({"tensors": [{"dtype": "float32", "shape": [True], "nbytes": 4}]}, b"\0" * 4),
        packed({"tensors": [{"dtype": "float32", "shape": [1.0], "nbytes": 4}]}, b"\0" * 4),
        packed({"tensors": [{"dtype": "float32", "shape": "1", "nbytes": 4}]}, b"\0" * 4),
        packed({"tensors": [{"dtype": "bool", "shape": [1] * 65, "nbytes": 1}]}, b"\0"),
        packed({"tensors": [{"dtype": "bool", "shape": [1 << 40, 1 << 40], "nbytes": 0}]}),
        packed({"tensors": [{"dtype": "bool", "shape": [0], "nbytes": 0}] * (frames.MAX_TENSORS + 1)}),
    ],
)
def test_what_contradicts_itself_is_refused(stream: bytes) -> None:
    with pytest.raises(FrameError):
        read(stream)


@pytest.mark.parametrize("index", [-1, 1, "0", True, None, 0.0])
def test_only_tensors_that_came_can_be_referred_to(index: object) -> None:
    (frame,) = read(packed({"tensors": [{"dtype": "bool", "shape": [1], "nbytes": 1}]}, b"\1"))
    assert frame.record(0) == ("bool", (1,), bytearray(b"\1"))
    with pytest.raises(FrameError):
        frame.record(index)


def test_a_frame_larger_than_the_limit_is_not_sent() -> None:
    with pytest.raises(FrameError, match="too large"):
        frames.encode({}, [("uint8", [frames.MAX_PAYLOAD + 1], b"")])
    with pytest.raises(FrameError, match="too large"):
        frames.encode({"text": "x" * frames.MAX_HEADER})


def test_a_frame_goes_through_a_socket_in_pieces() -> None:
    data = bytes(range(256)) * 4096
    mine, theirs = socket.socketpair()
    with mine, theirs:
        mine.setblocking(False)
        theirs.setblocking(False)
        writer, reader = frames.Writer(frames.encode({"a": 1}, [("uint8", [len(data)], data)])), Reader()
        frame, done, rounds = None, False, 0
        while frame is None:
            rounds += 1
            with contextlib.suppress(BlockingIOError):
                done = done or writer.write(mine)
            with contextlib.suppress(BlockingIOError):
                frame = reader.read(theirs)
        assert done and rounds > 1 and frame.tensors[0] == data


def test_digests_tell_dtype_shape_and_bytes_apart() -> None:
    base: frames.Named = ("float32", (2, 2), b"\0" * 16)
    others: list[frames.Named] = [
        ("int32", (2, 2), b"\0" * 16),
        ("float32", (4, 1), b"\0" * 16),
        ("float32", (2, 2), b"\1" + b"\0" * 15),
    ]
    assert len({frames.digest([item]) for item in [base, *others]}) == 4
    assert frames.digest([base]) == frames.digest([("float32", [2, 2], bytearray(16))])
