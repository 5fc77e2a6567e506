"""The ensemble: every variant of every family, in a fixed order.

A family is a module below ``families/`` with a function ``variants``; it is found by its file.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator

from kcbench.ensemble import families
from kcbench.ensemble.variant import Variant
from kcbench.errors import KcbenchError


def all_variants() -> Iterator[Variant]:
    """Every variant, by task; within a task in the order in which its families make them."""
    yield from _enumerated()


def study_tasks() -> tuple[str, ...]:
    """The tasks that have variants, in order: those on which kcbench itself is studied."""
    return tuple(dict.fromkeys(variant.task for variant in _enumerated()))


def variants(task_id: str) -> Iterator[Variant]:
    """The variants of one task.

    Raises:
        KcbenchError: No family has a variant of the task.
    """
    found = [variant for variant in _enumerated() if variant.task == task_id]
    if not found:
        raise KcbenchError(f"the ensemble has no variant of {task_id!r}", fix=f"the tasks are {', '.join(study_tasks())}")
    yield from found


@functools.cache
def _enumerated() -> tuple[Variant, ...]:
    made: dict[str, Variant] = {}
    for info in sorted(pkgutil.iter_modules(families.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{families.__name__}.{info.name}")
        make: Callable[[], Iterator[Variant]] = module.variants
        for variant in make():
            if variant.id in made:
                raise KcbenchError(f"two variants are called {variant.id!r}", where=info.name, fix="name what tells them apart")
            made[variant.id] = variant
    return tuple(sorted(made.values(), key=lambda variant: variant.task))
