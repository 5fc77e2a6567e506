"""What the tests of tasks and references share: a task with everything drawn that a call needs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.domain.contract import Contract
from kcbench.domain.probe import Probe, Recipe
from kcbench.domain.task import Task
from kcbench.gates.base import PlanContext
from kcbench.numerics.formats import torch_dtype
from kcbench.oracle.eager import as_tuple, load, place
from kcbench.oracle.module import reference_module
from kcbench.oracle.oracle import TaskOracle
from kcbench.oracle.twin import widened
from kcbench.tasks import load_task
from tests.chosen import with_the_others_slow


@dataclass(frozen=True)
class Case:
    """One drawn call of a task's model and of its reference."""

    task: Task
    probe: Probe
    oracle: TaskOracle
    inputs: dict[str, Any]
    state: dict[str, Tensor]
    """Parameters and buffers by name, those that are not redrawn included."""

    @property
    def contract(self) -> Contract:
        return self.task.contract

    @property
    def reference(self) -> Any:
        return reference(self.task.id)

    @property
    def init(self) -> tuple[Any, ...]:
        return self.contract.init_args(self.probe.axes)

    def args(self, dtype: torch.dtype = torch.float64) -> list[Any]:
        """Copies of the inputs, the floating ones converted."""
        return list(place(self.inputs, dtype).values())

    def states(self, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
        """Copies of parameters and buffers, the floating ones converted."""
        return place(self.state, dtype)

    def truths(self, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
        """The reference on the drawn inputs."""
        with torch.no_grad():
            return as_tuple(self.reference.forward(*self.args(dtype), params=self.states(dtype), init=self.init))

    def eagers(self, dtype: torch.dtype | None = None, device: str = "cpu") -> tuple[Tensor, ...]:
        """The task's model on the drawn inputs, by default in the dtype in which they were drawn."""
        dtype = dtype or torch_dtype(self.probe.dtype)
        model = load(self.model(dtype), self.states(dtype)).to(device)
        args = [value.to(device) if isinstance(value, Tensor) else value for value in self.args(dtype)]
        with torch.no_grad(), widened() if dtype is torch.float64 else nullcontext():
            return tuple(output.cpu() for output in as_tuple(model(*args)))

    def model(self, dtype: torch.dtype) -> torch.nn.Module:
        """A new model with this call's parameters."""
        return load(self.oracle.model(self.probe, dtype), self.states(dtype))

    def truth(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """The reference's only output; several, one after another."""
        return joined(self.truths(dtype))

    def eager(self, dtype: torch.dtype | None = None, device: str = "cpu") -> Tensor:
        """The model's only output; several, one after another."""
        return joined(self.eagers(dtype, device))


def joined(outputs: tuple[Tensor, ...]) -> Tensor:
    return outputs[0] if len(outputs) == 1 else torch.cat([output.flatten() for output in outputs])


@functools.lru_cache(maxsize=2)  # It keeps what it draws, and tests go from task to task.
def oracle(task_id: str) -> TaskOracle:
    return TaskOracle(load_task(task_id), seed="tests")


@functools.cache
def reference(task_id: str) -> Any:
    return reference_module(load_task(task_id))


def build(
    task_id: str,
    *,
    axes: Mapping[str, int] | None = None,
    dtype: str = "float64",
    inputs: Mapping[str, Recipe] | None = None,
    parameters: Mapping[str, Recipe] | None = None,
    stream: str = "tests",
) -> Case:
    known = oracle(task_id)
    probe = PlanContext(known.task.contract).probe(
        "test", axes=axes, dtype=dtype, inputs=inputs, parameters=parameters, stream=stream
    )
    state = {name: value.detach() for name, value in known.model(probe, torch_dtype(dtype)).state_dict().items()}
    return Case(known.task, probe, known, known.inputs(probe), state)


@pytest.fixture(params=with_the_others_slow())
def task_id(request: pytest.FixtureRequest) -> str:
    """Every task; those beyond the core for CI's slow tests."""
    return request.param


@pytest.fixture
def draw() -> Callable[..., Case]:
    return build


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
