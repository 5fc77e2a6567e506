"""Answers of a worker as observations.

Nothing is believed: every field is checked for type, size and agreement with the request.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from kcbench.domain.observation import Alias, Observation, Raised, TensorRecord
from kcbench.runtime.call import Call
from kcbench.runtime.worker import frames
from kcbench.runtime.worker.frames import Frame, FrameError

_DEVICE = re.compile(r"[a-z]{2,12}(:\d{1,3})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TARGET = re.compile(r"sm_\d{2,3}")
_STRUCTURE = re.compile(r"tensor|tuple|list|other:.{1,150}", re.DOTALL)
STATUSES = ("ok", "raised", "memory")
LAUNCHES = 64


def status_of(frame: Frame) -> str:
    """The status that a worker reports: ``ok``, ``raised`` or ``memory``."""
    return choice(frame.header.get("status"), STATUSES)


def raised_of(data: object) -> Raised | None:
    """An exception, where there is one."""
    if data is None:
        return None
    fields = mapping(data, 8)
    return Raised(text(fields.get("type"), 200), text(fields.get("message"), 4000), text(fields.get("trace"), 8000))


def failure_of(frame: Frame, seconds: float) -> Observation:
    """The observation for a status other than ``ok``."""
    header = frame.header
    detail = text(header.get("detail", ""), 1000)
    return Observation(status_of(frame), raised=raised_of(header.get("raised")), detail=detail, seconds=seconds)


def observation_of(frame: Frame, call: Call, seconds: float) -> Observation:
    """The observation that an answer to a call describes.

    Args:
        frame: The answer.
        call: What was asked.
        seconds: The grader's own clock.

    Raises:
        FrameError: The answer contradicts itself or the request.
    """
    if status_of(frame) != "ok":
        return failure_of(frame, seconds)
    header = frame.header
    structure, outputs = outputs_of(frame)
    differing = _records(frame, header.get("differing"))
    repeats = tuple(_digest(item) for item in sequence(header.get("repeats"), call.repeats))
    if len(repeats) != call.repeats:
        raise FrameError("another number of repeats than asked for")
    _check_digests(repeats, outputs, differing)
    wanted = {*(f"input:{name}" for name in call.gradients), *(f"parameter:{name}" for name in call.parameter_gradients)}
    return Observation(
        "ok",
        raised=raised_of(header.get("raised")),
        outputs=outputs,
        structure=structure,
        repeats=repeats,
        differing=differing,
        gradient_status=choice(header.get("gradient_status"), ("ok", "no-grad", "raised", "not-asked")),
        gradients=_gradients(frame, header.get("gradients"), wanted),
        aliases=tuple(_alias(item, len(outputs)) for item in sequence(header.get("aliases"), 64)),
        mutated=_names(header.get("mutated"), call.names),
        outside=header.get("outside") is True,
        missing_parameters=_names(header.get("missing"), call.parameters or {}),
        held=_optional_count(header.get("held")),
        peak_bytes=_optional_count(header.get("peak_bytes")),
        host_copies=_optional_count(header.get("host_copies")),
        seconds=seconds,
    )


def outputs_of(frame: Frame) -> tuple[str, tuple[TensorRecord, ...]]:
    """What a call returned: its structure and its tensors."""
    structure = text(frame.header.get("structure"), 160)
    if not _STRUCTURE.fullmatch(structure):
        raise FrameError("no such structure")
    return structure, _records(frame, frame.header.get("outputs"))


def _check_digests(repeats: tuple[str, ...], outputs: tuple[TensorRecord, ...], differing: tuple[TensorRecord, ...]) -> None:
    """The digests must be those of the bytes that came along."""
    if not repeats or repeats[0] != _digest_of(outputs):
        raise FrameError("a digest is not that of the outputs")
    other = next((digest for digest in repeats if digest != repeats[0]), None)
    # A repeat may differ by having no output at all.
    if differing and _digest_of(differing) != other:
        raise FrameError("a digest is not that of the differing outputs")


def _digest_of(records: tuple[TensorRecord, ...]) -> str:
    return frames.digest((record.dtype, record.shape, record.data) for record in records)


def _records(frame: Frame, data: object) -> tuple[TensorRecord, ...]:
    return tuple(_record(frame, item) for item in sequence(data, 64))


def _record(frame: Frame, data: object) -> TensorRecord:
    fields = mapping(data, 8)
    dtype, shape, payload = frame.record(fields.get("tensor"))
    device = text(fields.get("device"), 20)
    stride = sequence(fields.get("stride"), frames.MAX_DIMS)
    if not _DEVICE.fullmatch(device) or any(type(step) is not int for step in stride) or len(stride) != len(shape):
        raise FrameError("an output's facts are impossible")
    return TensorRecord(dtype, shape, bytes(payload), device, tuple(stride), text(fields.get("type_name"), 200))


def _gradients(frame: Frame, data: object, wanted: Collection[str]) -> dict[str, TensorRecord | None]:
    found = mapping(data, 1024)
    if not set(found) <= set(wanted):
        raise FrameError("a gradient that was not asked for")
    return {name: None if item is None else _record(frame, item) for name, item in found.items()}


def _alias(data: object, outputs: int) -> Alias:
    items = sequence(data, 3)
    if len(items) != 3 or type(items[0]) is not int or not 0 <= items[0] < max(outputs, 64):
        raise FrameError("an alias is impossible")
    return Alias(items[0], choice(items[1], ("input", "parameter", "output")), text(items[2], 1000))


def _names(data: object, known: Collection[str]) -> tuple[str, ...]:
    names = tuple(text(item, 1000) for item in sequence(data, 4096))
    if not set(names) <= set(known):
        raise FrameError("a name that was not sent")
    return names


def count(data: object) -> int:
    """A number of things."""
    if type(data) is not int or not 0 <= data < 1 << 60:
        raise FrameError("a count is impossible")
    return data


def _optional_count(data: object) -> int | None:
    return None if data is None else count(data)


def _digest(data: object) -> str:
    value = text(data, 64)
    if not _DIGEST.fullmatch(value):
        raise FrameError("no digest")
    return value


def launches_of(frame: Frame) -> list[dict[str, Any]]:
    """The launches that came with an answer. They go back to a worker only, so their inside is not looked at."""
    found = sequence(frame.header.get("launches", []), LAUNCHES)
    for item in found:
        fields = mapping(item, 16)
        text(fields.get("kernel"), 400)
        if not isinstance(fields.get("constants"), dict):
            raise FrameError("a launch is impossible")
    return found


def metadata_of(data: object) -> dict[str, Any]:
    """Compiled metadata: a few named numbers, and lists of numbers."""
    found: dict[str, Any] = {}
    for name, value in mapping(data, 32).items():
        values = value if isinstance(value, list) else [value]
        if len(values) > 8 or any(type(item) is not int or not 0 <= item < 1 << 48 for item in values):
            raise FrameError("metadata is impossible")
        found[text(name, 64)] = value
    return found


def extensions_of(frame: Frame) -> list[tuple[str, str, dict[str, Any]]]:
    """Kernel, target and metadata of what was found in built extensions."""
    found = []
    for item in sequence(frame.header.get("found"), 256):
        fields = mapping(item, 8)
        target = text(fields.get("target"), 8)
        if not _TARGET.fullmatch(target):
            raise FrameError("no such target")
        found.append((text(fields.get("kernel"), 200), target, metadata_of(fields.get("metadata"))))
    return found


def text(data: object, longest: int) -> str:
    """A string of at most so many characters, which can be written anywhere (JSON can hold lone surrogates)."""
    if not isinstance(data, str) or len(data) > longest:
        raise FrameError("a text is missing or too long")
    return data.encode("utf-8", "replace").decode()


def choice(data: object, known: Collection[str]) -> str:
    """One of a few strings."""
    if not isinstance(data, str) or data not in known:
        raise FrameError("an unknown word")
    return data


def sequence(data: object, longest: int) -> list[Any]:
    """A list of at most so many items."""
    if not isinstance(data, list) or len(data) > longest:
        raise FrameError("a list is missing or too long")
    return data


def mapping(data: object, longest: int) -> Mapping[str, Any]:
    """An object of at most so many fields."""
    if not isinstance(data, dict) or len(data) > longest:
        raise FrameError("an object is missing or too large")
    return data
