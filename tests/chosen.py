"""The tasks that tests go over: a few with everything, all of them where that is cheap or CI has time."""

from __future__ import annotations

from typing import Any

import pytest

from kcbench.ensemble import study_tasks
from kcbench.tasks import list_tasks

ALL = list_tasks()
CORE = list(study_tasks())
"""Tasks with honest variants, broken kernels and studies of their own: what tests of everything else are tried on."""


def with_the_others_slow(tasks: list[str] = ALL) -> list[Any]:
    """Parameters for all tasks, of which those beyond the core are for CI's slow tests."""
    return [task if task in CORE else pytest.param(task, marks=pytest.mark.slow) for task in tasks]
