"""Other published checks of correctness, each of which says whether it would let a kernel through.

The gates are compared with them on the same kernels. What decides is as published; the sizes are those for a CPU. What a check
asks about a task is the same for all kernels and is kept, so that forks share it once their parent asked about any kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import torch
from torch import Tensor

from kcbench.domain.observation import Observation
from kcbench.domain.task import Task
from kcbench.engine.calls import build_call
from kcbench.gates import PlanContext
from kcbench.gates.base import real_inputs
from kcbench.gates.compare import mismatch, outputs_of
from kcbench.legacy import kernelbench
from kcbench.numerics import bounds
from kcbench.oracle.module import task_module
from kcbench.oracle.oracle import TaskOracle
from kcbench.oracle.seeding import seeded
from kcbench.runtime import Call, ModelSpec
from kcbench.study.local import LocalSession

FACTORS = (1.0, 3.0, 0.01, -1.0)
"""What the inputs of the four distributions are multiplied by."""
TOLERANCES = {"float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-2}
"""atol = rtol of the four distributions by precision."""
INPUTS = 10
"""How many random inputs the classic bound is asked on."""
KEPT = 2
"""Tasks for which a check's questions are kept."""


@dataclass(frozen=True)
class Checker:
    """A published check."""

    id: str
    title: str
    """What it does, in one line, with its source."""
    passes: Callable[[LocalSession, Task, str], bool]
    """Puts the check's questions about a task to a kernel. They are made before any of its code runs, which might tamper with
    them; the text is the seed."""

    def accepts(self, source: str, task: Task, *, interpreted: bool, seed: str) -> bool:
        """Whether the check would let a kernel through.

        The kernel runs in this process; one that may not end, or may tamper with it, belongs into
        :func:`kcbench.study.isolated`.

        Args:
            source: The kernel's source text, with a class ``ModelNew``.
            task: Its task.
            interpreted: It is a Triton kernel, for the interpreter.
            seed: What inputs are drawn from, where the check has no public seeds of its own.

        Returns:
            False also where the kernel does not load, raises, or returns other outputs than the task's in number or shape.

        Raises:
            KcbenchError: Triton was imported here before, in its other mode.
        """
        with LocalSession(source, interpret=interpreted) as session:
            return self.passes(session, task, seed)


def all_checkers() -> tuple[Checker, ...]:
    """The published checks that there are, in the order in which reports list them."""
    return (
        Checker(
            "kernelbench-v0",
            "KernelBench as first published: five random inputs at one shape, allclose with 1e-2 "
            "(https://github.com/ScalingIntelligence/KernelBench)",
            partial(_kernelbench, "kernelbench-v0"),
        ),
        Checker(
            "kernelbench-v1",
            "KernelBench today: the same inputs, allclose with 1e-4 in float32 "
            "(https://github.com/ScalingIntelligence/KernelBench/blob/423217d/src/kernelbench/eval.py)",
            partial(_kernelbench, "kernelbench-v1"),
        ),
        Checker(
            "four-distributions",
            "KernelBench-Verified: the problem's inputs times 1, 3, 0.01 and -1, allclose with 1e-3 in float32 "
            "(https://github.com/facebookresearch/kernel_bench_verified)",
            _four_distributions,
        ),
        Checker(
            "classic-bounds",
            "The classic forward bound: ten normal inputs at one shape, within 4 eps sqrt(N) of the float64 truth "
            "(https://arxiv.org/abs/2608.12700)",
            _classic_bounds,
        ),
    )


@dataclass(frozen=True)
class _Keyed:
    """A task that caches can tell from others: by its digest, for a contract has no hash."""

    digest: str
    task: Task = field(compare=False)

    @classmethod
    def of(cls, task: Task) -> _Keyed:
        return cls(task.digest, task)


# KernelBench


def _kernelbench(check: str, session: LocalSession, task: Task, seed: str) -> bool:
    made = _trials(_Keyed.of(task))
    for trial in made.trials:
        one = kernelbench.Trials((trial,), made.size)
        (score,) = kernelbench.judge([check], task, one, [session.call(trial.call)])
        if not score.correct:
            return False
    return True


@lru_cache(maxsize=KEPT)
def _trials(of: _Keyed) -> kernelbench.Trials:
    with LocalSession(of.task.code, entry="Model") as eager:
        return kernelbench.trials(of.task, reduced=True, ask=eager.call)


# KernelBench-Verified


def _four_distributions(session: LocalSession, task: Task, seed: str) -> bool:
    trials, tolerance = _distributions(_Keyed.of(task)), TOLERANCES[task.contract.dtypes[0]]
    # Where the eager model has no finite answer at all, nothing is asked.
    return session.load().ok and all(_close(trial.expected, session.call(trial.call), tolerance) for trial in trials)


@lru_cache(maxsize=KEPT)
def _distributions(of: _Keyed) -> tuple[kernelbench.Trial, ...]:
    """One input set per distribution.

    Each is drawn anew and scaled before it is rounded, and those on which the eager model has no finite answer are left out, as
    published. Weights are as in KernelBench: not copied, but constructed under one seed. Two things differ: inputs that the
    contract ties to their recipe are never scaled, and the trials at KernelBench's own inputs, more draws of the first
    distribution, are not made.
    """
    contract = of.task.contract
    _, sizes = kernelbench.trial_sizes(of.task, reduced=True)
    module = task_module(of.task, sizes)
    precision, varied = contract.dtypes[0], real_inputs(contract)
    names = tuple(item.name for item in contract.inputs)
    calls = []
    with seeded(kernelbench.SEED):
        model = ModelSpec(tuple(module.get_init_inputs()), precision, kernelbench.SEED)
    with seeded(kernelbench.SEED):
        for factor in FACTORS:
            values = zip(names, module.get_inputs(), strict=True)
            scaled = (value * factor if name in varied else value for name, value in values)
            args = tuple(kernelbench.argument(value, precision) for value in scaled)
            calls.append(Call(model, names, args, seed=kernelbench.SEED))
    with LocalSession(of.task.code, entry="Model") as eager:
        made = [kernelbench.Trial(call, eager.call(call)) for call in calls]
    return tuple(trial for trial in made if _finite(trial.expected))


def _finite(seen: Observation) -> bool:
    return seen.ok and all(bool(torch.isfinite(output).all()) for output in outputs_of(seen))


def _close(expected: Observation, seen: Observation, tolerance: float) -> bool:
    if not seen.ok or _form(seen) != _form(expected):
        return False
    pairs = zip(outputs_of(expected), outputs_of(seen), strict=True)
    return all(torch.allclose(want, got, atol=tolerance, rtol=tolerance) for want, got in pairs)


def _form(seen: Observation) -> tuple[bool, list[tuple[tuple[int, ...], str]]]:
    """What must agree: a list has no shape to compare, and torch.allclose raises on two dtypes."""
    return seen.structure == "tensor", [(record.shape, record.dtype) for record in seen.outputs]


# The classic bound


@dataclass(frozen=True)
class _Question:
    """One input set of the classic bound, with what an answer is held against."""

    call: Call
    truth: tuple[Tensor, ...]
    tolerances: tuple[Tensor, ...]

    def answered_by(self, seen: Observation) -> bool:
        """Whether all elements whose truth is finite lie within the bound."""
        got = outputs_of(seen)
        if not seen.ok or mismatch(got, self.truth):
            return False
        lines = zip(got, self.truth, self.tolerances, strict=True)
        near = (((mine.to(torch.float64) - want).abs() <= most) | ~torch.isfinite(want) for mine, want, most in lines)
        return all(bool(item.all()) for item in near)


def _classic_bounds(session: LocalSession, task: Task, seed: str) -> bool:
    redrawn, constructed = (_questions(_Keyed.of(task), seed, redraw) for redraw in (True, False))
    # Weights are redrawn by name; a kernel that has other names keeps those of its constructor. Which of the two it is, a model
    # object of its own is asked: the names that it does have would keep their new values.
    first = redrawn[0].call
    seen = session.call(replace(first, model=replace(first.model, instance="names")))
    questions = constructed if seen.missing_parameters else redrawn
    return all(question.answered_by(session.call(question.call)) for question in questions)


@lru_cache(maxsize=2 * KEPT)
def _questions(of: _Keyed, seed: str, redraw: bool) -> tuple[_Question, ...]:
    oracle, context, found = TaskOracle(of.task, seed=seed), PlanContext(of.task.contract, redraw=redraw), []
    for index in range(INPUTS):
        probe = context.probe(f"random {index}", stream=f"random {index}")
        length, truth = of.task.contract.reduction_length(probe.axes), oracle.truth(probe)
        tolerances = tuple(bounds.classic(want, dtype=probe.dtype, length=length) for want in truth)
        found.append(_Question(build_call(oracle, probe), truth, tolerances))
    return tuple(found)
