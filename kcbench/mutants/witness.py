"""Witness: an input inside the contract on which a mutant is wrong beyond doubt.

The search knows nothing of the gates' probes and uses none of their tolerances. A result is wrong where it errs by more than
:data:`FACTOR` times what is allowed: the largest error that eager and the unmutated kernel make against the float64 truth on the
same input, over the whole output, and a floor from the formats alone. Non-finite values, exceptions, memory that is shared or
written to, and bytes that change from call to call need no tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kcbench.domain.observation import Observation
from kcbench.domain.task import Task
from kcbench.engine.calls import build_call, plan_context
from kcbench.mutants.trials import Trial, base_trials, directed_trials
from kcbench.numerics.formats import classes, decode, format_of, round_to
from kcbench.oracle.oracle import TaskOracle
from kcbench.runtime import WorkerSession
from kcbench.study import HERE, Place

FACTOR = 16.0
"""How many times further than allowed an error must be."""
TRIALS = 36
INTERPRETED_TRIALS = 18
DIED = "died"
_FINITE, _NAN = 0, 1
_ENDED = ("crashed", "timeout", "memory")
_DECLINES = ("NotImplementedError", "TypeError", "ValueError", "AssertionError", "RuntimeError")


@dataclass(frozen=True)
class Witness:
    """What shows that a mutant is faulty."""

    kind: str
    """``value``, ``class``, ``form``, ``raised``, ``repeat``, ``alias``, ``mutates``, ``outside``, ``gradient``, ``no-gradient``,
    ``died``."""
    detail: str
    sizes: Mapping[str, int]
    family: str
    dtype: str
    excess: float = math.inf
    """Error over what is allowed, before :data:`FACTOR`; infinite where nothing is."""

    def to_json(self) -> dict[str, Any]:
        excess = self.excess if math.isfinite(self.excess) else None
        return {**vars(self), "sizes": dict(self.sizes), "excess": excess}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Witness:
        return cls(**{**data, "excess": math.inf if data["excess"] is None else data["excess"]})


class NotRunnableError(Exception):
    """The mutant does not load, or raises in every call."""


class Bench:
    """An honest kernel with what it does in all trials: what its mutants are compared with.

    Args:
        source: The honest kernel's text.
        task: Its task.
        oracle: The task's oracle; the trials follow from its seed.
        interpreted: It is a Triton kernel, for the interpreter.
        place: Where it and its mutants run.
    """

    def __init__(self, source: str, task: Task, oracle: TaskOracle, *, interpreted: bool = False, place: Place = HERE) -> None:
        self.source, self.task, self.oracle, self.interpreted, self.place = source, task, oracle, interpreted, place
        self.context = plan_context(task, device=place.device, interpreted=interpreted, redraw=True)
        count = INTERPRETED_TRIALS if interpreted else TRIALS
        self.trials = base_trials(self.context, seed=oracle.seed, count=count)
        start = time.process_time()
        with self.session(source) as session:
            self.honest = [self._usable(trial, session) for trial in self.trials]
        self.seconds = time.process_time() - start
        """Processor time that the trials took with the honest kernel, what the oracle had to find out included."""

    def session(self, source: str) -> WorkerSession:
        """A session for a kernel of this kind."""
        return self.place.open(source, interpreted=self.interpreted)

    def call(self, session: WorkerSession, trial: Trial) -> Observation:
        """What a kernel shows in a trial."""
        return session.call(build_call(self.oracle, trial.probe))

    def _usable(self, trial: Trial, session: WorkerSession) -> Observation | None:
        """What the honest kernel shows; None where it or eager gives no answer, so that a mutant owes none."""
        if not self.oracle.eager(trial.probe).ok:
            return None
        honest = self.call(session, trial)
        return honest if honest.ok and not _form_problem(honest, self.oracle.eager(trial.probe)) else None

    def find_witness(self, mutant: str) -> Witness | None:
        """Look for a witness.

        Args:
            mutant: The mutant's text.

        Returns:
            None where no trial shows a difference that matters: the mutant counts as equivalent.

        Raises:
            NotRunnableError: The mutant does not load, or raises in every trial.
        """
        with self.session(mutant) as session, self.session(self.source) as control:
            if not session.load().ok:
                raise NotRunnableError("it does not load")
            ran, raised = False, None
            for trial, honest in self._all_trials(mutant, control):
                seen = self.call(session, trial)
                ran = ran or seen.ok
                found = self._compare(trial, honest, seen)
                # One that never runs is no fault that anybody could overlook.
                if found is not None and found.kind == "raised" and not ran:
                    raised = raised or found
                    continue
                if found is not None:
                    return found
                if ran and raised is not None:
                    return raised
            if not ran:
                raise NotRunnableError("it raises in every call")
            return raised

    def _all_trials(self, mutant: str, control: WorkerSession) -> Iterator[tuple[Trial, Observation]]:
        for trial, honest in zip(self.trials, self.honest, strict=True):
            if honest is not None:
                yield trial, honest
        count = INTERPRETED_TRIALS if self.interpreted else TRIALS
        for trial in directed_trials(self.context, mutant, self.source, seed=self.oracle.seed, count=count):
            own = self._usable(trial, control)
            if own is not None:
                yield trial, own

    def _compare(self, trial: Trial, honest: Observation, seen: Observation) -> Witness | None:
        eager = self.oracle.eager(trial.probe)
        if seen.status in _ENDED:
            return _witness(trial, DIED, seen.detail)
        if not seen.ok:
            declined = seen.raised is not None and seen.raised.type in _DECLINES
            if declined and trial.probe.dtype != self.context.dtype:
                return None
            why = f"{seen.raised.type}: {seen.raised.message[:120]}" if seen.raised else seen.detail
            return _witness(trial, "raised", why)
        form = _form_problem(seen, eager)
        if form:
            return _witness(trial, "form", form)
        for kind, detail in self._side_effects(honest, seen):
            return _witness(trial, kind, detail)
        return self._compare_values(trial, honest, seen) or self._compare_gradients(trial, honest, seen)

    def _side_effects(self, honest: Observation, seen: Observation) -> Iterator[tuple[str, str]]:
        if seen.mutated and not honest.mutated:
            yield "mutates", f"the input {seen.mutated[0]} was written to"
        if seen.outside and not honest.outside:
            yield "outside", "memory was written to that the call was not given"
        own = {(alias.kind, alias.name) for alias in honest.aliases}
        for alias in seen.aliases:
            allowed = self.task.contract.view and alias.kind != "output"
            if (alias.kind, alias.name) not in own and not allowed:
                yield "alias", f"output {alias.output} shares memory with its {alias.kind} {alias.name}"
        if self.task.contract.deterministic and len(set(seen.repeats)) > 1 and len(set(honest.repeats)) == 1:
            yield "repeat", "equal calls gave other bytes"

    def _compare_values(self, trial: Trial, honest: Observation, seen: Observation) -> Witness | None:
        eager = self.oracle.eager(trial.probe)
        worst: Witness | None = None
        for index, truth in enumerate(self.oracle.truth(trial.probe)):
            mine, own, other = (decode(item.outputs[index]) for item in (seen, honest, eager))
            if not other.dtype.is_floating_point:
                if not torch.equal(mine, own):
                    return _witness(trial, "value", f"output {index} differs")
                continue
            wrong = self._wrong_class(trial, truth, mine, own, other)
            if wrong is not None:
                return wrong
            excess = self._excess(trial, truth, mine, (own, other))
            if excess > FACTOR and (worst is None or excess > worst.excess):
                worst = _witness(trial, "value", f"output {index} errs {excess:.3g} times what is allowed", excess)
        return worst

    def _wrong_class(self, trial: Trial, truth: Tensor, mine: Tensor, own: Tensor, other: Tensor) -> Witness | None:
        """A finite value, NaN or infinity where truth, eager and the honest kernel agree on another class."""
        dtype = str(other.dtype).removeprefix("torch.")
        want = classes(round_to(truth, dtype))
        near = torch.isfinite(truth) & (truth.abs() > 0.9 * format_of(dtype).max)
        agreed = (classes(own.double()) == want) & (classes(other.double()) == want) & ~near
        got = classes(mine.double())
        if self.task.contract.nonfinite == "exact" or not trial.poisoned:
            wrong = got != want
        else:
            wrong = ((want != _FINITE) & (got == _FINITE)) | ((want > _NAN) & (got > _NAN) & (got != want))
        wrong &= agreed
        if not bool(wrong.any()):
            return None
        flat = int(wrong.flatten().to(torch.int8).argmax())
        return _witness(trial, "class", f"{float(mine.flatten()[flat])} instead of {float(truth.flatten()[flat])}")

    def _excess(self, trial: Trial, truth: Tensor, mine: Tensor, controls: Sequence[Tensor]) -> float:
        """The worst error over what is allowed, among elements that are finite for all."""
        finite = torch.isfinite(truth)
        for value in (mine, *controls):
            finite = finite & torch.isfinite(value)
        if not bool(finite.any()):
            return 0.0
        want = truth[finite]
        base = max(float((value.double()[finite] - want).abs().max()) for value in controls)
        dtype = str(controls[-1].dtype).removeprefix("torch.")
        length = self.task.contract.reduction_length(trial.probe.axes)
        form = format_of(dtype)
        largest = float(want.abs().max())
        if not largest:
            # What is left where inputs cancel: their own rounding.
            inputs = (value for value in self.oracle.inputs(trial.probe).values() if _sizeable(value))
            largest = max((float(value.abs().nan_to_num(0.0, 0.0).max()) for value in inputs), default=0.0)
        # Subnormals may be flushed unless the contract says that they are kept.
        tiny = form.eta if self.task.contract.subnormals == "preserve" and trial.family == "subnormal" else form.smallest_normal
        floor = form.u * want.abs() + format_of("float32").u * math.sqrt(length) * largest + tiny
        return float(((mine.double()[finite] - want).abs() / (base + floor)).max())

    def _compare_gradients(self, trial: Trial, honest: Observation, seen: Observation) -> Witness | None:
        if honest.gradient_status != "ok":
            return None
        required = self.task.contract.gradient is not None and self.task.contract.gradient.required
        names = [name for name, record in honest.gradients.items() if record is not None]
        if seen.gradient_status == "raised":
            message = seen.raised.message if seen.raised is not None else ""
            return _witness(trial, "no-gradient", f"the backward pass raised: {message[:120]}")
        inputs = [name for name in names if name.startswith("input:")] or names
        if all(seen.gradients.get(name) is None for name in inputs):
            # A kernel for the forward pass alone is honest where the contract requires no gradient, though a bias be added to it.
            return _witness(trial, "no-gradient", "no gradient") if required else None
        truths = self.oracle.gradient_truth(trial.probe)
        eager = self.oracle.eager(trial.probe).gradients
        largest = max(float(value.abs().max()) for value in truths.values() if value.numel())
        for name in names:
            truth, own, other, record = truths[name], honest.gradients[name], eager.get(name), seen.gradients.get(name)
            if own is None or other is None or not truth.numel():
                continue
            if record is None:
                if bool(truth.count_nonzero()):
                    return _witness(trial, "gradient", f"no gradient of {name}")
                continue
            if record.shape != own.shape:
                return _witness(trial, "gradient", f"the gradient of {name} has shape {list(record.shape)}")
            mine = decode(record)
            if not bool(torch.isfinite(mine).all()) and bool(torch.isfinite(decode(own)).all()):
                return _witness(trial, "gradient", f"the gradient of {name} is not finite")
            # Gradients that vanish identically are rounding: they are measured against the largest one.
            noise = format_of(trial.probe.dtype).u * largest
            excess = self._excess(trial, truth, mine, (decode(own), decode(other)))
            if excess > FACTOR and float((mine.double() - truth).abs().max()) > FACTOR * noise:
                return _witness(trial, "gradient", f"the gradient of {name} errs {excess:.3g} times what is allowed", excess)
        return None


def _sizeable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and bool(value.numel())


def _form_problem(seen: Observation, eager: Observation) -> str:
    """How the outputs differ from eager's in number, shape or dtype; empty where they do not."""
    got, want = ([(record.shape, record.dtype) for record in item.outputs] for item in (seen, eager))
    return "" if got == want else f"{got} instead of {want}"


def _witness(trial: Trial, kind: str, detail: str, excess: float = math.inf) -> Witness:
    return Witness(kind, detail, dict(trial.probe.axes), trial.family, trial.probe.dtype, excess)
