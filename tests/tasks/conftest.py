"""What the tests of tasks and references share: a task with everything drawn that a call needs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.domain.contract import Contract
from kcbench.domain.probe import Probe, Recipe
from kcbench.domain.task import Task
from kcbench.gates.base import PlanContext
from kcbench.numerics.formats import torch_dtype
from kcbench.oracle.draw import ParameterSpec, draw_inputs, draw_parameters
from kcbench.oracle.module import reference_module, task_module
from kcbench.tasks import list_tasks, load_task

TASKS = list_tasks()


@dataclass(frozen=True)
class Case:
    """A task's model and reference, and one drawn call of them."""

    task: Task
    probe: Probe
    inputs: dict[str, Tensor]
    state: dict[str, Tensor]
    init: tuple[Any, ...]
    reference: ModuleType
    model: torch.nn.Module = field(repr=False)

    @property
    def contract(self) -> Contract:
        return self.task.contract

    def args(self, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        """The inputs, converted; indices stay."""
        return [tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in self.inputs.values()]

    def truth(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """The reference on the drawn inputs."""
        state = {name: tensor.to(dtype) for name, tensor in self.state.items()}
        with torch.no_grad():
            return self.reference.forward(*self.args(dtype), params=state, init=self.init)

    def eager(self, dtype: torch.dtype | None = None) -> Tensor:
        """The task's model on the drawn inputs, by default in the dtype in which they were drawn."""
        dtype = dtype or torch_dtype(self.probe.dtype)
        model = self.model.to(dtype)
        model.load_state_dict({name: tensor.to(dtype) for name, tensor in self.state.items()})
        with torch.no_grad():
            return model(*self.args(dtype))


@functools.cache
def modules(task_id: str) -> tuple[Task, ModuleType, ModuleType]:
    task = load_task(task_id)
    return task, task_module(task, None), reference_module(task)


def build(
    task_id: str,
    *,
    axes: Mapping[str, int] | None = None,
    dtype: str = "float64",
    inputs: Mapping[str, Recipe] | None = None,
    parameters: Mapping[str, Recipe] | None = None,
    stream: str = "tests",
) -> Case:
    task, module, reference = modules(task_id)
    probe = PlanContext(task.contract).probe("test", axes=axes, dtype=dtype, inputs=inputs, parameters=parameters, stream=stream)
    init = task.contract.init_args(probe.axes)
    model = module.Model(*init)
    specs = tuple(ParameterSpec(name, tuple(value.shape), True) for name, value in model.state_dict().items())
    state = draw_parameters(task.contract, probe, specs, "seed")
    assert state is not None
    return Case(task, probe, draw_inputs(task.contract, probe, "seed"), state, init, reference, model)


@pytest.fixture(params=TASKS)
def task_id(request: pytest.FixtureRequest) -> str:
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
