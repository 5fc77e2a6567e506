"""Inputs as the task's own ``get_inputs`` makes them, for what a recipe cannot say: triangular matrices, targets, masks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from kcbench.domain.task import Task
from kcbench.oracle.module import task_module
from kcbench.oracle.seeding import seeded


class Generator:
    """Calls ``get_inputs`` of a task at given sizes under a seed that follows from a key. The global generator is left alone."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __call__(self, axes: Mapping[str, int], key: str) -> list[Any]:
        """One draw of all inputs.

        Args:
            axes: A size for every axis.
            key: Equal keys give equal inputs.
        """
        module = task_module(self._task, axes)
        with seeded(generator_seed(key)):
            return list(module.get_inputs())


def generator_seed(key: str) -> int:
    """The seed in force while ``get_inputs`` runs."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little") >> 1
