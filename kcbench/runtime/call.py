"""What the engine asks of a worker, and how much a submission may use: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcbench.domain.observation import Raised

if TYPE_CHECKING:
    from torch import Tensor

LAYOUTS = ("contiguous", "transposed", "strided", "offset", "channels_last")
STREAMS = ("default", "side")
DISTURBANCES = ("dirty", "busy")
REGIMES = ("ieee", "tf32", "default")


@dataclass(frozen=True)
class TensorArg:
    """A tensor argument."""

    tensor: Tensor
    """On the CPU, contiguous, in the dtype of the call."""
    layout: str = "contiguous"
    requires_grad: bool = False

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise ValueError(f"unknown layout {self.layout!r}")


@dataclass(frozen=True)
class ScalarArg:
    """A Python number as an argument."""

    value: int | float | bool


@dataclass(frozen=True)
class ModelSpec:
    """Which model object a call is made on: equal specs share one."""

    init: tuple[Any, ...]
    """Constructor arguments: numbers, text, None, and lists, tuples and dicts of these."""
    dtype: str
    """Floating dtype that parameters and buffers are cast to."""
    seed: int = 42
    """``torch.manual_seed`` before the constructor."""
    instance: str = "shared"


@dataclass(frozen=True)
class Call:
    """One call of ``forward``, repeated, and what is to be observed."""

    model: ModelSpec
    names: tuple[str, ...]
    """One name per argument."""
    args: tuple[TensorArg | ScalarArg, ...]
    parameters: Mapping[str, Tensor] | None = None
    """Copied in place into the submission's parameters and buffers of the same name and shape; None leaves them alone."""
    repeats: int = 1
    disturb: tuple[str, ...] = ()
    """``dirty``: the allocator is poisoned with changing values; ``busy``: on CUDA another stream computes meanwhile."""
    stream: str = "default"
    """``side``: on CUDA the call is made on another stream, where its inputs arrive late."""
    gradients: tuple[str, ...] = ()
    """Inputs whose gradient is wanted."""
    parameter_gradients: tuple[str, ...] = ()
    cotangents: tuple[Tensor, ...] = ()
    """One per output, where gradients are wanted."""
    seed: int = 0
    """``torch.manual_seed`` before the first forward; each repeat gets the next number."""
    regime: str = "ieee"
    """How torch's own float32 kernels multiply on a GPU; ``default`` is torch's default, with tf32 in convolutions."""

    def __post_init__(self) -> None:
        if len(self.names) != len(self.args):
            raise ValueError(f"{len(self.names)} names for {len(self.args)} arguments")
        if self.regime not in REGIMES:
            raise ValueError(f"unknown regime {self.regime!r}")
        if self.repeats < 1 or self.stream not in STREAMS or not set(self.disturb) <= set(DISTURBANCES):
            raise ValueError(f"unknown world: {self.repeats} repeats, stream {self.stream!r}, disturb {self.disturb!r}")


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Clocks run only while the worker works."""

    call_seconds: float = 30.0
    load_seconds: float = 60.0
    reserve_seconds: float = 150.0
    """What calls and imports may take beyond that, all of them together: a kernel that tunes itself is slow at new shapes, and
    slower where others work beside it; one that hangs uses it up but once."""
    build_seconds: float = 300.0
    """Import, and first call, of a submission that builds an extension: a compiler needs minutes where others need a second."""
    total_seconds: float = 600.0
    """Everything but compiling for other targets."""
    memory_bytes: int = 8 << 30
    """Host memory of the worker and of what it starts, above what a fresh worker has."""
    compile_seconds: float = 120.0
    max_restarts: int = 3
    """How often a session starts its worker again after a crash, a timeout or a fatal device error."""
    max_processes: int = 1024


@dataclass(frozen=True)
class LoadReport:
    """How the import of a submission went."""

    status: str
    """``ok``, ``raised``, ``timeout``, ``crashed`` or ``memory``."""
    raised: Raised | None = None
    detail: str = ""
    """For statuses other than ``ok``: one line for a person."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status == "ok"
