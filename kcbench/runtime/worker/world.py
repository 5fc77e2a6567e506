"""The state of the world around a forward: streams, load, and what can be measured from outside the call."""

from __future__ import annotations

import contextlib
import ctypes
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .tensors import Placed

_mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
_M_PERTURB = -6
# The C library fills what it hands out with the complement. It cannot fill with NaN, whose complement means "off".
_PERTURB = {"huge": 0x80, "zero": 0xFF}
_SYNCHRONIZES = "called a synchronizing CUDA operation"


REGIMES = {"ieee": (False, False, False), "tf32": (True, True, False), "default": (False, True, True)}
"""Whether matrix products may use tf32, convolutions may, and 16-bit products may add partial sums in 16 bits; ``default`` is
what torch does when nobody says anything."""


class World:
    """A CPU: one stream, nothing to load, nothing to measure."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def multiply(self, regime: str) -> None:
        """Choose how torch's own float32 kernels multiply."""

    def repeat(self, wanted: bool) -> None:
        """Choose whether torch's own kernels must give the same bytes each time, where they have faster ones that do not."""

    @contextlib.contextmanager
    def around(self, inputs: Sequence[Placed], *, side: bool, busy: bool) -> Iterator[None]:
        """What one forward and the reading of its outputs happen in."""
        yield

    def arrive(self, inputs: Sequence[Placed]) -> None:
        """Last thing before the forward: on a side stream the inputs set out, and arrive late."""

    @contextlib.contextmanager
    def littered(self, fill: str) -> Iterator[None]:
        """Fill all memory that is allocated meanwhile, where poisoned blocks alone would miss: small ones, on a CPU."""
        byte = _PERTURB.get(fill, 0) if _mallopt is not None else 0
        if not byte or _mallopt is None:
            yield
            return
        _mallopt(_M_PERTURB, byte)
        try:
            yield
        finally:
            _mallopt(_M_PERTURB, 0)

    def wait(self) -> None:
        """Wait until the outputs may be read."""

    def broken(self) -> bool:
        """Whether an error has made the device unusable for this process."""
        return False

    @contextlib.contextmanager
    def measured(self) -> Iterator[Measure]:
        """Measure one forward."""
        yield Measure()

    def copies(self, measure: Measure, again: Callable[[], object]) -> int | None:
        """Device-to-host copies of one forward; ``again`` repeats it where a closer look is needed."""
        return None


class Measure:
    """What was measured during one forward."""

    peak: int | None = None
    synchronizations: int | None = None


class CudaWorld(World):
    """A CUDA device."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        torch.cuda.set_device(device)
        self._synchronize = torch.cuda.synchronize
        self._sleep: Any = torch.cuda._sleep
        self._stream: Any = torch.cuda.stream
        self._level = torch.cuda.memory_allocated
        self._peak = torch.cuda.max_memory_allocated
        self._reset = torch.cuda.reset_peak_memory_stats
        self._debug = torch.cuda.set_sync_debug_mode
        self._mm = torch.mm
        stream: Any = torch.cuda.Stream
        self._side, self._load = stream(device), stream(device)
        self._operands: list[torch.Tensor] = []
        self._on_side = False
        self._matmul, self._cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        self._regime = REGIMES["default"]
        self._repeatable = bool(self._cudnn.deterministic)
        # About 50 ms: long enough for a kernel on another stream to run, and to read inputs that have not arrived.
        clock = getattr(torch.cuda.get_device_properties(device), "clock_rate", 1_800_000)
        self._delay = int(0.05 * clock * 1000)

    def multiply(self, regime: str) -> None:
        # A submission that has set the switches itself keeps them: narrowing is then its own doing, and shows.
        if (self._matmul.allow_tf32, self._cudnn.allow_tf32, self._narrow_sums()) == self._regime:
            self._regime = REGIMES[regime]
            self._matmul.allow_tf32, self._cudnn.allow_tf32, narrow = self._regime
            self._matmul.allow_fp16_reduced_precision_reduction = narrow
            self._matmul.allow_bf16_reduced_precision_reduction = narrow

    def repeat(self, wanted: bool) -> None:
        # As above: a submission that has set the switch keeps it.
        if bool(self._cudnn.deterministic) == self._repeatable:
            self._cudnn.deterministic = self._repeatable = wanted

    def _narrow_sums(self) -> bool:
        return bool(self._matmul.allow_fp16_reduced_precision_reduction or self._matmul.allow_bf16_reduced_precision_reduction)

    @contextlib.contextmanager
    def around(self, inputs: Sequence[Placed], *, side: bool, busy: bool) -> Iterator[None]:
        if busy:
            self._keep_busy()
        if not side:
            yield
            return
        for item in inputs:
            item.stage()
        self._synchronize(self.device)
        self._on_side = True
        try:
            with self._stream(self._side):
                yield
        finally:
            self._on_side = False

    def arrive(self, inputs: Sequence[Placed]) -> None:
        if self._on_side:
            # Behind a delay on the side stream: whoever reads them on another stream reads NaN.
            self._sleep(self._delay)
            for item in inputs:
                item.arrive()

    @contextlib.contextmanager
    def littered(self, fill: str) -> Iterator[None]:
        yield

    def _keep_busy(self) -> None:
        with self._stream(self._load):
            if not self._operands:
                shape = (4096, 4096)
                self._operands = [torch.ones(shape, device=self.device, dtype=torch.float16) for _ in range(3)]
            left, right, out = self._operands
            for _ in range(24):
                self._mm(left, right, out=out)

    def wait(self) -> None:
        if self._on_side:
            self._side.synchronize()
        else:
            self._synchronize(self.device)

    def broken(self) -> bool:
        # The first error reported may be one that a failed launch left behind; an illegal access is reported for ever.
        for _ in range(2):
            try:
                self._synchronize(self.device)
            except Exception:
                continue
            return False
        return True

    @contextlib.contextmanager
    def measured(self) -> Iterator[Measure]:
        measure = Measure()
        if not self._on_side:
            self._synchronize(self.device)
        before = self._level(self.device)
        self._reset(self.device)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._debug("warn")
            try:
                yield measure
            finally:
                self._debug("default")
        measure.peak = max(self._peak(self.device) - before, 0)
        measure.synchronizations = sum(_SYNCHRONIZES in str(item.message) for item in caught)

    def copies(self, measure: Measure, again: Callable[[], object]) -> int | None:
        # Every blocking copy to the host synchronizes, so a call that never did needs no second look. The second look goes
        # through a dispatch mode, which would change what torch.compile does, and so is kept away from the call that is judged.
        if measure.synchronizations == 0:
            return 0
        counter = _CopyCounter()
        try:
            with counter:
                again()
        except Exception:
            return None
        finally:
            self._synchronize(self.device)
        return counter.count


class _CopyCounter(TorchDispatchMode):
    """Counts copies from a CUDA device to the host."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name
        # Reading one number (``.item()``) decides something; it moves no tensor.
        if not isinstance(result, torch.Tensor) or result.numel() <= 1:
            return result
        if name == "aten::_to_copy":
            self.count += args[0].is_cuda and result.device.type == "cpu"
        elif name == "aten::copy_":
            self.count += args[1].is_cuda and args[0].device.type == "cpu"
        return result


def world_of(device: torch.device) -> World:
    """The world of a device; initialises CUDA for a CUDA device."""
    if device.type != "cuda":
        return World(device)
    index: int | None = device.index
    return CudaWorld(torch.device("cuda", torch.cuda.current_device() if index is None else index))
