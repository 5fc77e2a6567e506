"""Observation: what was seen when a probe ran. It holds raw bytes and facts, never a judgement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TensorRecord:
    """A tensor as it came out of a call: its bytes in C order, and how it lay in memory."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes
    device: str = "cpu"
    stride: tuple[int, ...] = ()
    type_name: str = "Tensor"
    """Class of the returned object; anything but ``Tensor`` or ``Parameter`` is a subclass that may compute lazily."""


@dataclass(frozen=True)
class Alias:
    """An output that shares storage with something else that is alive."""

    output: int
    kind: str
    """``input``, ``parameter`` or ``output`` (an output of an earlier call, still held)."""
    name: str


@dataclass(frozen=True)
class Raised:
    """An exception that left the submission's code."""

    type: str
    message: str
    trace: str = ""


@dataclass(frozen=True)
class Observation:
    """What one probe showed."""

    status: str
    """``ok``, ``raised``, ``crashed`` (the process died), ``timeout``, ``memory`` or ``not-run``."""
    raised: Raised | None = None
    detail: str = ""
    """For statuses other than ``ok``: one line for a person, for example ``killed by signal 11``."""
    outputs: tuple[TensorRecord, ...] = ()
    structure: str = "tensor"
    """``tensor``, ``tuple``, ``list`` or ``other:<type>``."""
    repeats: tuple[str, ...] = ()
    """SHA-256 over the bytes of all outputs, one per repeat."""
    differing: tuple[TensorRecord, ...] = ()
    """Outputs of the first repeat whose digest differs from the first call's."""
    gradient_status: str = "not-asked"
    """``ok``, ``no-grad`` (the output does not require grad), ``raised`` or ``not-asked``."""
    gradients: Mapping[str, TensorRecord | None] = field(default_factory=dict)
    """By ``input:<name>`` or ``parameter:<name>``; None where autograd reports the operand as unused."""
    aliases: tuple[Alias, ...] = ()
    mutated: tuple[str, ...] = ()
    """Names of inputs whose bytes changed during the call."""
    outside: bool = False
    """Memory was written to that belongs neither to the call nor to the submission."""
    missing_parameters: tuple[str, ...] = ()
    """Parameters of the task's model that the submission does not have under that name and shape."""
    held: int | None = None
    """How many parameters and buffers the submission's model registers; None where the call says nothing about it."""
    peak_bytes: int | None = None
    """Peak device memory above the level before the call; None where it cannot be measured."""
    host_copies: int | None = None
    """Device-to-host copies of tensors seen during the call; None where they cannot be seen."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True)
class Launch:
    """A kernel as it was compiled for one target."""

    kernel: str
    target: str
    """``sm_80``, ``sm_90``, ``sm_100``."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """``n_regs``, ``n_spills``, ``shared``, ``tmem_size``, ``num_warps``, ``num_stages``, ``cluster_dims`` where known."""
    error: str = ""
    """Why there is no metadata: the compiler's first line."""
    ptx: str = ""
    """Its PTX, where that allocates Tensor Memory."""
