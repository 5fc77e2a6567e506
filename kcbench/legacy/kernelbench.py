"""KernelBench's own correctness check: five trials at one fixed shape, public seeds, ``torch.allclose``.

Faithful to the published evaluation in what decides: models constructed under seed 42 without copying weights, trial seeds
drawn after ``manual_seed(42)``, inputs from ``get_inputs`` under the trial's seed, no ``eval()``, shapes compared, then
``allclose`` with ``equal_nan`` off. Not repeated are its accidents: integer inputs are not cast to float, and the two models
share no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kcbench.domain.observation import Observation
from kcbench.domain.result import LegacyScore
from kcbench.domain.task import Task
from kcbench.numerics.formats import flat
from kcbench.oracle.fitting import fitting_sizes
from kcbench.oracle.module import task_module
from kcbench.oracle.seeding import seeded
from kcbench.runtime import Call, ModelSpec, ScalarArg, TensorArg

SEED = 42
TRIALS = 5
CHUNK = 1 << 20
"""Elements that are compared at a time: benchmark sizes fill no cache, and the two checks share one pass."""
TOLERANCES = {
    "kernelbench-v0": {"float32": 1e-2, "float16": 1e-2, "bfloat16": 1e-2},
    "kernelbench-v1": {"float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2},
}
"""atol = rtol by check and precision: v0 as first published, v1 as of commit 423217d."""


@dataclass(frozen=True)
class Trial:
    """One random input set, as a call, and the eager model's answer to it."""

    call: Call
    """What eager model and submission are asked, each in a worker of its own."""
    expected: Observation


@dataclass(frozen=True)
class Trials:
    """The trials of a task."""

    trials: tuple[Trial, ...]
    size: str
    """``full``, ``capped`` or ``reduced``, as :attr:`kcbench.domain.result.LegacyScore.size` has it."""


def trial_sizes(task: Task, *, reduced: bool) -> tuple[str, dict[str, int] | None]:
    """The sizes of legacy trials and timing, by name, and what they are: ``full``, ``capped`` or ``reduced``.

    Args:
        task: The task.
        reduced: Use the contract's legacy sizes instead of the task's own.

    Returns:
        The kind, and the sizes; None for the task's own.
    """
    if reduced:
        return "reduced", task.contract.legacy_sizes()
    fitted = fitting_sizes(task)
    return ("full" if fitted is None else "capped"), fitted


def trials(task: Task, *, reduced: bool, ask: Callable[[Call], Observation]) -> Trials:
    """The five trials of a task: they depend on nothing but the task, so all submissions share them.

    Args:
        task: The task.
        reduced: Use the contract's legacy sizes instead of the task's own.
        ask: Puts a call to the eager model.
    """
    size, sizes = trial_sizes(task, reduced=reduced)
    module = task_module(task, sizes)
    precision = task.contract.dtypes[0]
    calls = []
    with seeded(SEED):
        model = ModelSpec(tuple(module.get_init_inputs()), precision, SEED, "legacy")
    with seeded(SEED):
        seeds = [int(torch.randint(0, 2**32 - 1, (1,)).item()) for _ in range(TRIALS)]
    for seed in seeds:
        with seeded(seed):
            args = tuple(argument(value, precision) for value in module.get_inputs())
            names = tuple(f"arg{index}" for index in range(len(args)))
            calls.append(Call(model, names, args, seed=seed, regime="default"))
    return Trials(tuple(Trial(call, ask(call)) for call in calls), size)


def argument(value: Any, precision: str) -> TensorArg | ScalarArg:
    """An input of the task as the argument of a call: floating tensors in the precision that is checked."""
    if not isinstance(value, Tensor):
        return ScalarArg(value)
    return TensorArg((value.to(getattr(torch, precision)) if value.is_floating_point() else value).contiguous())


def judge(checks: Sequence[str], task: Task, made: Trials, seen: Sequence[Observation]) -> tuple[LegacyScore, ...]:
    """The published verdicts on what a submission answered to the trials.

    Args:
        checks: ``kernelbench-v0``, ``kernelbench-v1``, or both.
        task: The task.
        made: The trials.
        seen: One observation per trial; a run that stopped early may have fewer.
    """
    tolerances = {check: TOLERANCES[check][task.contract.dtypes[0]] for check in checks}
    compared = [
        _compared(trial.expected, observation, sorted(set(tolerances.values())))
        for trial, observation in zip(made.trials, seen, strict=False)
    ]
    return tuple(_score(check, tolerance, made, compared) for check, tolerance in tolerances.items())


@dataclass(frozen=True)
class _Compared:
    """One trial's answer beside the eager model's."""

    problem: str = ""
    """Why values could not be compared."""
    difference: float | None = None
    """Largest absolute difference; a NaN counts as infinite."""
    close: tuple[float, ...] = ()
    """Tolerances within which all outputs are."""


def _score(check: str, tolerance: float, made: Trials, compared: Sequence[_Compared]) -> LegacyScore:
    problems = [item.problem or ("" if tolerance in item.close else "output mismatch") for item in compared]
    passed = problems.count("")
    reason = next(filter(None, problems), "")
    correct = passed == len(made.trials)
    if not correct and not reason:
        reason = "the run stopped before all trials were made"
    differences = tuple(item.difference for item in compared if item.difference is not None)
    return LegacyScore(check, True, correct, f"({passed} / {len(made.trials)})", differences, reason, made.size)


def _compared(truth: Observation, seen: Observation, tolerances: Sequence[float]) -> _Compared:
    if not seen.ok and seen.raised is not None:
        message = seen.raised.message.splitlines()[0][:200] if seen.raised.message else ""
        return _Compared(f"runtime error: {seen.raised.type}: {message}")
    if not seen.ok:
        return _Compared(seen.detail)
    if not truth.ok:
        return _Compared(f"the eager model failed: {truth.detail or truth.status}")
    if len(seen.outputs) != len(truth.outputs):
        return _Compared(f"output count mismatch: expected {len(truth.outputs)}, got {len(seen.outputs)}")
    close, worst = list(tolerances), 0.0
    for want, mine in zip(truth.outputs, seen.outputs, strict=True):
        if want.shape != mine.shape:
            return _Compared(f"output shape mismatch: expected {list(want.shape)}, got {list(mine.shape)}")
        if want.dtype != mine.dtype:
            return _Compared(f"runtime error: allclose of {want.dtype} and {mine.dtype}")
        for one, other in zip(flat(want, CHUNK), flat(mine, CHUNK), strict=True):
            difference = _largest(one, other)
            worst = max(worst, difference)
            # Far below atol there is nothing to ask.
            close = [tol for tol in close if difference < tol / 2 or torch.allclose(one, other, atol=tol, rtol=tol)]
    return _Compared(difference=worst, close=tuple(close))


def _largest(want: Tensor, mine: Tensor) -> float:
    wide = torch.complex128 if want.is_complex() else torch.float64
    difference = (want.to(wide) - mine.to(wide)).abs().max()
    return float(torch.nan_to_num(difference, nan=float("inf")).clamp(max=1e308))
