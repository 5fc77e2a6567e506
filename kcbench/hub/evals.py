"""Evals: ``eval.yaml``, by which the Hub knows a dataset as a benchmark and files results under its tasks.

The Hub's field ``evaluation_framework`` is left out: it admits the names of a list that the Hub keeps, and kcbench is not on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcbench.hub.figures import Figures
from kcbench.hub.manifest import SPLIT
from kcbench.report.text import count

NAME = "eval.yaml"


def evals(figures: Figures, configs: Sequence[str]) -> dict[str, Any]:
    """The content of ``eval.yaml``: one task of the Hub for each configuration that kernels can be scored on.

    Args:
        figures: The tasks in numbers.
        configs: Names of the configurations, without ``references``.
    """
    description = (
        f"{count(figures.tasks, 'task')} for machine-written GPU kernels, each with a contract. A submission is "
        "scored by twelve contract gates against a float64 reference; a task counts as solved where no gate refuses the kernel."
    )
    return {
        "name": "kcbench",
        "description": description,
        "tasks": [{"id": config, "config": config, "split": SPLIT} for config in configs],
    }
