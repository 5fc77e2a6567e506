"""The clocks of a worker: what one call of a forward took, by the host's clock or by CUDA events.

All that measures is bound to a name here before the submission is imported, and on CUDA it is torch's C binding that is bound,
not the Python class over it. So a submission that replaces ``time.perf_counter``, ``torch.cuda.Event``, its methods or
``torch.cuda.synchronize`` changes nothing here, and one that leaves another stream current is timed on the default one.

What this cannot stop: the submission shares the process, so that one which looks for these objects (through ``gc`` or
``ctypes``, or by patching the driver) can forge any number. The grader therefore holds its own clock against the sum, and reads
outputs of timed calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from .tensors import empty, fill_

CPU_FLUSH = 64 << 20
"""Bytes written before each call on a CPU: more than most caches hold, and no promise that nothing is left in one."""

_float32 = torch.float32
_host_clock: Callable[[], float] = time.perf_counter


class Clock:
    """The host's clock."""

    flush_bytes = CPU_FLUSH

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._buffer: torch.Tensor | None = None
        self._starts: list[Any] = []
        self._stops: list[Any] = []

    def prepare(self) -> None:
        """Take the memory that :meth:`flush` writes to."""
        if self._buffer is None:
            self._buffer = empty((self.flush_bytes // 4,), dtype=_float32, device=self._device)

    def release(self) -> None:
        """Give that memory back."""
        self._buffer = None

    def enter(self) -> None:
        """Begin a trial in a known state."""

    def flush(self) -> None:
        """Write over what the caches hold."""
        if self._buffer is not None:
            fill_(self._buffer, 0.0)

    def start(self) -> None:
        """Note that the call begins."""
        self._starts.append(_host_clock())

    def stop(self) -> None:
        """Note that the call ended."""
        self._stops.append(_host_clock())

    def wait(self) -> None:
        """Wait until everything on the device is done."""

    def take(self) -> list[float]:
        """Milliseconds of each call since the last time this was asked."""
        times = [(stop - start) * 1e3 for start, stop in zip(self._starts, self._stops, strict=True)]
        self.reset()
        return times

    def reset(self) -> None:
        """Forget the calls since then, such as those of a batch that an exception ended."""
        self._starts, self._stops = [], []


class CudaClock(Clock):
    """CUDA events on the default stream."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        binding: Any = torch._C
        self._event = binding._CudaEventBase
        self._record, self._elapsed = self._event.record, self._event.elapsed_time
        self._synchronize = binding._cuda_synchronize
        self._set_stream = binding._cuda_setStream
        self._stream: Any = torch.cuda.default_stream(device)
        self._name = {
            "stream_id": self._stream.stream_id,
            "device_index": self._stream.device_index,
            "device_type": self._stream.device_type,
        }
        # Twice the second-level cache, so that what is written last has driven out all that was there.
        self.flush_bytes = 2 * int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)) or CPU_FLUSH

    def enter(self) -> None:
        self._set_stream(**self._name)

    def start(self) -> None:
        self._starts.append(self._mark())

    def stop(self) -> None:
        self._stops.append(self._mark())

    def _mark(self) -> Any:
        event = self._event(enable_timing=True)
        self._record(event, self._stream)
        return event

    def wait(self) -> None:
        # The copies that follow belong on the default stream again, whatever the call left current.
        self._synchronize()

    def take(self) -> list[float]:
        times = [float(self._elapsed(start, stop)) for start, stop in zip(self._starts, self._stops, strict=True)]
        self.reset()
        return times


def clock_of(device: torch.device) -> Clock:
    """The clock of a device, whose CUDA context exists; made before the submission is imported."""
    return CudaClock(device) if device.type == "cuda" else Clock(device)
