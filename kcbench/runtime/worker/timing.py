"""Times calls of a submission: fresh values and cold caches for each of them, and the outputs kept for whoever wants to check.

Before every call the inputs are made anew out of a set that the submission never gets: copied, with every element of some inputs
multiplied by a factor that no other call has. Results that are remembered, by address or by content, are therefore of no use. A
batch without calls does everything else in the same way, so that a clock outside of this process can subtract it.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from . import frames
from .clock import Clock
from .forward import CallError, Reply, Runner, decode_init, unpack
from .tensors import (
    Host,
    UnreadableError,
    clone,
    copy_,
    detach,
    device_of,
    dtype_of,
    element_size,
    empty,
    from_bytes,
    grad_mode,
    host,
    raw,
    shape_of,
    to,
)
from .world import World

RING = 2
"""Buffers that the inputs of successive calls take turns in."""
STEPS = 512
"""A trial's factor is ``1 - step / STEPS``, which every floating dtype holds exactly."""

_manual_seed = torch.manual_seed
_mul: Any = torch.mul
_numel = Tensor.numel
_memory_error = torch.cuda.OutOfMemoryError
_collect_on, _collect_off = gc.enable, gc.disable

Specs = Sequence[Mapping[str, Any]]
"""What the arguments are, as the request says."""
Values = list[Tensor | None]
"""One entry per argument; None for a number."""


class Timer:
    """The timed calls of one submission.

    Args:
        runner: Its models.
        world: Its device.
        clock: A clock that was made before the submission was imported.
    """

    def __init__(self, runner: Runner, world: World, clock: Clock) -> None:
        self._runner, self._world, self._clock = runner, world, clock
        self._sets: list[tuple[Specs, Values]] = []
        self._ring: list[Values] = []
        self._kept: list[tuple[str, list[Tensor]]] = []
        self._sent: list[Host] = []

    def _release(self) -> None:
        """Give all memory back."""
        self._sets, self._ring, self._kept, self._sent = [], [], [], []
        self._clock.release()

    def stage(self, request: Mapping[str, Any], frame: frames.Frame) -> None:
        """Take one more input set; the first one of several replaces those of before.

        Raises:
            CallError: The device has no room for it.
        """
        try:
            if request["first"]:
                self._release()
                self._runner.forget_outputs()
                self._clock.prepare()
            values = [
                None if "scalar" in arg else to(from_bytes(*frame.record(arg["tensor"])), self._world.device)
                for arg in request["args"]
            ]
            if not self._ring:
                self._ring.append([_like(value) for value in values])
            self._sets.append((request["args"], values))
            self._extend_ring(values)
        except Exception as error:
            raise CallError(error, "while the inputs were staged") from error

    def _extend_ring(self, values: Values) -> None:
        """More buffers where there is room: with one, a call overwrites the inputs of the call before."""
        while len(self._ring) < RING:
            try:
                self._ring.append([_like(value) for value in values])
            except _memory_error:
                return

    def batch(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Time calls one after the other, each with the device to itself.

        Returns:
            ``ms``: milliseconds by trial; ``kept_bytes``: of one call's outputs; ``state_bytes``: of the model's parameters.

        Raises:
            CallError: The submission's code raised, or its output cannot be copied.
        """
        instance = self._runner.instance(request["model"])
        call = bool(request["call"])
        if call:
            self._kept, self._sent = [], []
        self._world.multiply(request["regime"])
        self._world.repeat(False)
        self._clock.reset()
        # A collection in the middle of a call would be counted as the call's.
        _collect_off()
        try:
            with grad_mode(False):
                for index, (chosen, step, seed) in enumerate(request["trials"]):
                    self._trial(instance.model, self._ring[index % len(self._ring)], chosen, step, seed, call=call)
            times = self._clock.take()
        except CallError:
            raise
        except Exception as error:
            raise CallError(error, "while it was timed") from error
        finally:
            _collect_on()
        return {
            "ms": times,
            "kept_bytes": sum(_nbytes(tensor) for tensor in self._kept[-1][1]) if self._kept else 0,
            "state_bytes": sum(_nbytes(tensor) for tensor in instance.tensors().values()),
        }

    def _trial(self, model: Any, buffers: Values, chosen: int, step: int, seed: int, *, call: bool) -> None:
        clock = self._clock
        clock.enter()
        args = _fresh(buffers, *self._sets[chosen], step)
        _manual_seed(seed)
        clock.flush()
        result: Any = None
        if call:
            try:
                clock.start()
                result = model(*args)
                clock.stop()
            except BaseException as error:
                raise CallError(error) from error
            # In the order of the stream: what is not computed by now is not the output of what was timed.
            clock.enter()
            self._keep(result)
        else:
            clock.start()
            clock.stop()
            for tensor in self._kept[-1][1] if self._kept else ():
                clone(tensor)
        clock.wait()

    def _keep(self, result: Any) -> None:
        structure, outputs = unpack(result)
        try:
            with raw():
                self._kept.append((structure, [clone(detach(output)) for output in outputs]))
        except Exception as error:
            raise CallError(UnreadableError(f"an output cannot be copied: {error}")) from error

    def output(self, index: int) -> Reply:
        """What a call of the last batch returned, by its place in the batch."""
        structure, outputs = self._kept[index]
        reply = Reply()
        try:
            values = [host(output) for output in outputs]
        except Exception as error:
            raise CallError(UnreadableError(f"an output cannot be read: {error}")) from error
        records = reply.add_outputs(outputs, [value.named() for value in values])
        # The bytes are read when the answer is sent: the tensors have to live until then.
        self._sent = values
        reply.header = {"structure": structure, "outputs": records}
        return reply


def _fresh(buffers: Values, specs: Specs, values: Values, step: int) -> list[Any]:
    """The arguments of a call, made out of an input set in buffers of their own."""
    args: list[Any] = []
    for buffer, spec, value in zip(buffers, specs, values, strict=True):
        if buffer is None or value is None:
            args.append(decode_init([spec["scalar"]])[0])
            continue
        if spec["scaled"]:
            _mul(value, 1.0 - step / STEPS, out=buffer)
        else:
            copy_(buffer, value)
        args.append(buffer)
    return args


def _like(value: Tensor | None) -> Tensor | None:
    return None if value is None else empty(tuple(shape_of(value)), dtype=dtype_of(value), device=device_of(value))


def _nbytes(tensor: Tensor) -> int:
    with raw():
        return int(_numel(tensor)) * int(element_size(tensor))
