"""Contracts of the small problems, inferred once in a process and shared by all tests."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch

from kcbench.domain.contract import Contract
from kcbench.domain.task import Task
from kcbench.infer import Inference, infer
from kcbench.infer.draft import Draft, draft
from kcbench.infer.problem import Problem
from kcbench.infer.structure import Laboratory

torch.set_num_threads(1)


@functools.cache
def drafted(code: str) -> Draft:
    return draft(Problem.parse(code, name="problem"), task_id="level1/problem")


@functools.cache
def laboratory(code: str) -> Laboratory:
    made = drafted(code)
    task = Task("level1/problem", "", "", "", made.problem.sites.code, Contract.from_json(made.data))
    # Its time runs from here on, and other tests may come between those that share it.
    return Laboratory(task, seconds=86_400.0)


@functools.cache
def inferred(code: str) -> Inference:
    return infer(code, task_id="level1/problem", name="problem")


@pytest.fixture
def drafts() -> Callable[[str], Draft]:
    """The first contract of a problem, before any experiment."""
    return drafted


@pytest.fixture
def laboratories() -> Callable[[str], Laboratory]:
    """Experiments on the first contract of a problem."""
    return laboratory


@pytest.fixture
def inferences() -> Callable[[str], Inference]:
    """The contract of a problem."""
    return inferred
