"""A task at the sizes that it is timed at: input sets that nobody has seen, and how each trial makes fresh values of them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from kcbench.domain.task import Task
from kcbench.legacy import kernelbench
from kcbench.oracle.module import task_module
from kcbench.oracle.seeding import seeded
from kcbench.runtime import ModelSpec, ScalarArg, TensorArg
from kcbench.runtime.stopwatch import Args, Trial
from kcbench.runtime.worker.timing import STEPS

FEWEST_SETS, MOST_SETS, MOST_UNSCALED_SETS = 2, 4, 16
BUDGET = 256 << 20
"""Bytes of all input sets; two are drawn however large they are."""


@dataclass(frozen=True)
class Workload:
    """What the calls that are timed are made of."""

    task: Task
    model: ModelSpec
    names: tuple[str, ...]
    sets: tuple[Args, ...]
    scaled: tuple[bool, ...]
    """By argument: whether a trial's factor is applied. It is not where the contract leaves a floating input no freedom."""
    size: str
    """``full``, ``capped`` or ``reduced``, as :attr:`kcbench.domain.timing.Timing.size` has it."""
    seed: str

    @classmethod
    def of(cls, task: Task, *, seed: str, device: str) -> Workload:
        """Draw the input sets of a task, under the run's secret.

        Args:
            task: The task.
            seed: The run's secret: what is timed has not been seen in the legacy trials, whose seeds are public.
            device: ``cpu`` or ``cuda``; the sizes are those of the legacy trials on it.

        Raises:
            KcbenchError: The task's code does not run.
        """
        size, sizes = kernelbench.trial_sizes(task, reduced=device == "cpu")
        module = task_module(task, sizes)
        precision = task.contract.dtypes[0]
        with seeded(kernelbench.SEED):
            model = ModelSpec(tuple(module.get_init_inputs()), precision, kernelbench.SEED, "timing")

        def draw(index: int) -> Args:
            with seeded(_number(f"{seed}/timing/{task.id}/set {index}")):
                return tuple(kernelbench.argument(value, precision) for value in module.get_inputs())

        first = draw(0)
        scaled = _scaled(task, first)
        most = MOST_SETS if any(scaled) else MOST_UNSCALED_SETS
        count = min(max(BUDGET // max(_nbytes(first), 1), FEWEST_SETS), most)
        sets = (first, *(draw(index) for index in range(1, count)))
        names = tuple(f"arg{index}" for index in range(len(first)))
        return cls(task, model, names, sets, scaled, size, seed)

    def trials(self, salt: str, sets: int | None = None) -> Iterator[Trial]:
        """Trials without end, in an order of their own; no two alike before all have come, where anything can be scaled.

        Args:
            salt: Tells apart the orders of one workload.
            sets: How many of the sets may be used; all if not given.
        """
        rng = random.Random(f"{self.seed}/timing/{self.task.id}/{salt}")
        # A step of 0 would be the set itself, and one of more than half of them makes values unlike the task's own.
        steps = range(1, STEPS // 2) if any(self.scaled) else range(1)
        every = [Trial(chosen, step, chosen * STEPS + step) for chosen in range(sets or len(self.sets)) for step in steps]
        while True:
            rng.shuffle(every)
            yield from every

    @property
    def input_bytes(self) -> int:
        """Size of one input set."""
        return _nbytes(self.sets[0])


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _scaled(task: Task, args: Args) -> tuple[bool, ...]:
    inputs = task.contract.inputs
    if len(inputs) != len(args):
        return (False,) * len(args)
    return tuple(
        isinstance(arg, TensorArg) and arg.tensor.is_floating_point() and item.kind == "float" and item.domain == "real"
        for arg, item in zip(args, inputs, strict=True)
    )


def _nbytes(args: Args) -> int:
    tensors: list[Tensor] = [arg.tensor for arg in args if not isinstance(arg, ScalarArg)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
