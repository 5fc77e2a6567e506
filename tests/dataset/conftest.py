"""A few tasks of each kind, and the dataset that is built of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kcbench.hub.build import build
from kcbench.paths import data_root

TASKS = ("level1/matmul", "level1/relu", "level1/softmax", "level2/linear_bias_gelu", "level4/gated_delta_rule")
CHANGES = {
    "level1/softmax": {"compat": {"kernelbench": {"level": 1, "problem_id": 23}}},
    "level1/relu": {"compat": {"kernelbench": {"level": 1, "problem_id": 19}}},
    "level2/linear_bias_gelu": {"repairs": "level1/matmul"},
}
"""What the copies say beyond the originals."""


def copy_tasks(root: Path) -> Path:
    """A data root of its own, with :data:`TASKS` and :data:`CHANGES`."""
    for task in TASKS:
        folder = shutil.copytree(
            data_root() / "tasks" / task, root / "tasks" / task, ignore=shutil.ignore_patterns("__pycache__")
        )
        path = Path(folder) / "contract.json"
        data = {**json.loads(path.read_text("utf-8")), **CHANGES.get(task, {})}
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        reference = root / "references" / f"{task}.py"
        reference.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data_root() / "references" / f"{task}.py", reference)
    return root


@pytest.fixture(scope="session")
def few_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with five tasks; tests leave it as it is."""
    return copy_tasks(tmp_path_factory.mktemp("few"))


@pytest.fixture(scope="session")
def built(few_tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of those tasks; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("built") / "dataset"
    build(folder, version="1.2.0", root=few_tasks, repo="someone/kernels", published="2026-01-31")
    return folder
