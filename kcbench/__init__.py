"""kcbench: correctness contracts for machine-written GPU kernels.

The public names load on first use, so that ``import kcbench`` stays cheap and needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcbench.domain.result import Result
    from kcbench.domain.task import Task
    from kcbench.domain.verdict import Verdict
    from kcbench.engine import Scorer, evaluate
    from kcbench.infer import task_of_problem
    from kcbench.tasks import load_task

__version__ = "0.1.0"

__all__ = ["Result", "Scorer", "Task", "Verdict", "__version__", "evaluate", "load_task", "task_of_problem"]

_HOMES = {
    "Result": "kcbench.domain.result",
    "Scorer": "kcbench.engine",
    "Task": "kcbench.domain.task",
    "Verdict": "kcbench.domain.verdict",
    "evaluate": "kcbench.engine",
    "load_task": "kcbench.tasks",
    "task_of_problem": "kcbench.infer",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
