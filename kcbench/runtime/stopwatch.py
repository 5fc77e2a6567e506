"""The grader's handle on the timed calls of one session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from torch import Tensor

from kcbench.domain.observation import Observation
from kcbench.runtime import decode, tensors
from kcbench.runtime.call import ModelSpec, ScalarArg, TensorArg
from kcbench.runtime.session import WorkerSession
from kcbench.runtime.worker.frames import Frame, FrameError, Named

T = TypeVar("T")
Args = tuple[TensorArg | ScalarArg, ...]
LONGEST_MS = 1e7
"""Longest time of a call that is believed, in milliseconds: far beyond every limit."""


class NotTimedError(Exception):
    """There is no timing; the message says why, in one line."""


@dataclass(frozen=True)
class Trial:
    """The inputs of one timed call."""

    chosen: int
    """Which input set."""
    step: int
    """Where the set is scaled, its elements are multiplied by ``1 - step / STEPS``."""
    seed: int
    """``torch.manual_seed`` before the call."""


@dataclass(frozen=True)
class Batch:
    """Calls that were timed one after the other."""

    ms: tuple[float, ...]
    """Milliseconds of each call, as the worker says."""
    seconds: float
    """From the request to the answer, by the grader's clock."""
    kept_bytes: int
    """Size of one call's outputs, as the worker says."""
    state_bytes: int
    """Size of the model's parameters and buffers, as the worker says."""


class Stopwatch:
    """Times the calls of one model object in a session.

    Args:
        session: Where.
        model: Which model object.
        regime: How torch's own float32 kernels multiply, see :class:`kcbench.runtime.Call`.
    """

    def __init__(self, session: WorkerSession, model: ModelSpec, regime: str) -> None:
        self._session, self._model, self._regime = session, model, regime
        self._names: tuple[str, ...] = ()

    def stage(self, sets: Sequence[Args], scaled: Sequence[bool]) -> int:
        """Give the worker its input sets, in place of earlier ones.

        Args:
            sets: The sets, alike in shapes and dtypes; contiguous.
            scaled: By argument: whether a trial's factor is applied to it.

        Returns:
            How many sets the device had room for: at least one.

        Raises:
            NotTimedError: Not even one, or the worker failed.
        """
        for index, args in enumerate(sets):
            found = self._stage(args, scaled, first=index == 0)
            if isinstance(found, Observation):
                if index and found.status == "raised":
                    return index
                raise NotTimedError(reason_of(found))
        return len(sets)

    def _stage(self, args: Args, scaled: Sequence[bool], *, first: bool) -> bool | Observation:
        payload: list[Named] = []
        keep: list[Tensor] = []
        specs: list[dict[str, Any]] = []
        for arg, scale in zip(args, scaled, strict=True):
            if isinstance(arg, ScalarArg):
                specs.append({"scalar": arg.value})
                continue
            keep.append(tensors.contiguous(arg.tensor))
            specs.append({"tensor": len(payload), "scaled": scale})
            payload.append(tensors.named(keep[-1]))
        return self._session.exchange({"op": "stage", "args": specs, "first": first}, payload, lambda frame, seconds: True)

    def with_regime(self, regime: str) -> Self:
        """The same model object and staged sets under another regime."""
        return type(self)(self._session, self._model, regime)

    def run(self, trials: Sequence[Trial], *, call: bool = True, seconds: float | None = None) -> Batch:
        """Time a batch of calls.

        Args:
            trials: The inputs of each call; sets that were staged.
            call: False leaves the call itself away and does everything else.
            seconds: Time allowed for the batch; that of an ordinary call if not given.

        Raises:
            NotTimedError: A call raised, or the worker failed.
        """
        header = {
            "op": "time",
            "model": {**vars(self._model), "init": tensors.encode_init(self._model.init)},
            "regime": self._regime,
            "trials": [[trial.chosen, trial.step, trial.seed] for trial in trials],
            "call": call,
        }
        count = len(trials)
        return _settled(self._session.exchange(header, (), lambda frame, took: batch_of(frame, count, took), seconds=seconds))

    def output(self, index: int) -> Observation:
        """What a call of the last batch returned, as an observation; of another status where it cannot be had.

        Args:
            index: The call's place in the batch.
        """

        def read(frame: Frame, seconds: float) -> Observation:
            structure, outputs = decode.outputs_of(frame)
            return Observation("ok", structure=structure, outputs=outputs, seconds=seconds)

        return self._session.exchange({"op": "timed", "index": index}, (), read)


def _settled(found: T | Observation) -> T:
    if isinstance(found, Observation):
        raise NotTimedError(reason_of(found))
    return found


def reason_of(observation: Observation) -> str:
    """Why an observation is not what was hoped for, in one line."""
    raised = observation.raised
    if raised is None:
        return observation.detail or observation.status
    lines = raised.message.strip().splitlines()
    return f"{raised.type}: {lines[0][:300] if lines else ''}"


def batch_of(frame: Frame, count: int, seconds: float) -> Batch:
    """The batch that an answer describes.

    Args:
        frame: The answer.
        count: How many calls were asked for.
        seconds: The grader's own clock.

    Raises:
        FrameError: The answer contradicts itself or the request.
    """
    times = decode.sequence(frame.header.get("ms"), count)
    if len(times) != count:
        raise FrameError("another number of times than of calls")
    return Batch(
        tuple(_milliseconds(item) for item in times),
        seconds,
        decode.count(frame.header.get("kept_bytes")),
        decode.count(frame.header.get("state_bytes")),
    )


def _milliseconds(value: object) -> float:
    # A bool is an int, too; NaN lies between no two numbers; an integer may be too large for a float.
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LONGEST_MS:
        raise FrameError("a time is impossible")
    return float(value)
