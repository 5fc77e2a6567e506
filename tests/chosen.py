"""The tasks that tests go over: a few with everything, all of them where that is cheap or CI has time."""

from __future__ import annotations

from typing import Any

import pytest

from kcbench.ensemble import study_tasks
from kcbench.tasks import list_tasks, load_task

ALL = list_tasks()
CORE = list(study_tasks())
"""Tasks with honest variants, broken kernels and studies of their own: what tests of everything else are tried on."""


def with_the_others_slow(tasks: list[str] = ALL) -> list[Any]:
    """Parameters for all tasks, of which those beyond the core are for CI's slow tests."""
    return [task if task in CORE else pytest.param(task, marks=pytest.mark.slow) for task in tasks]


MANY_LAYERS = 20
"""Parameters from which a network counts as deep: one evaluation of its reference in float64 takes seconds."""


def with_the_deep_as_studies() -> list[Any]:
    """The same for tests that evaluate a reference many times: deep networks are left out of CI."""
    deep = {task for task in ALL if task.startswith("level3/") and len(load_task(task).contract.parameters) > MANY_LAYERS}
    slow, study = pytest.mark.slow, pytest.mark.study
    return [
        pytest.param(task, marks=[slow, study]) if task in deep else item
        for task, item in zip(ALL, with_the_others_slow(), strict=True)
    ]
