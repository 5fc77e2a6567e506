"""A Hub for each test, and small datasets for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcbench.hub.build import build
from kcbench.paths import data_root
from tests.hub_server.clients import Client, files_of
from tests.hub_server.running import Hub, running_hub

REPO = "lab/tasks"
OWN_TASK = "level1/rectifier"
"""A task that did not come with kcbench: level1/relu under another name."""
MakeDataset = Callable[..., Path]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub") as running:
        yield running


@pytest.fixture
def client(hub: Hub) -> Client:
    return Client(hub)


@pytest.fixture(scope="session")
def task_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks, one of which kcbench does not have. Not to be changed."""
    root = tmp_path_factory.mktemp("tasks")
    for name, source in (("level1/softmax", "level1/softmax"), (OWN_TASK, "level1/relu")):
        shutil.copytree(data_root() / "tasks" / source, root / "tasks" / name)
        reference = root / "references" / f"{name}.py"
        reference.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data_root() / "references" / f"{source}.py", reference)
    contract = root / "tasks" / OWN_TASK / "contract.json"
    contract.write_text(contract.read_text().replace('"level1/relu"', f'"{OWN_TASK}"'))
    shutil.copy(data_root() / "CITATION.cff", root)
    return root


@pytest.fixture(scope="session")
def make_dataset(task_root: Path, tmp_path_factory: pytest.TempPathFactory) -> MakeDataset:
    """Builds a version of the dataset, not to be changed; ``without`` leaves a task out."""
    made: dict[tuple[str, str], Path] = {}

    def make(version: str, *, without: str = "") -> Path:
        key = (version, without)
        if key not in made:
            root = tmp_path_factory.mktemp("root") / "data"
            shutil.copytree(task_root, root)
            if without:
                shutil.rmtree(root / "tasks" / without)
                (root / "references" / f"{without}.py").unlink()
            made[key] = tmp_path_factory.mktemp("made") / "dataset"
            build(made[key], version=version, root=root)
        return made[key]

    return make


@pytest.fixture(scope="session")
def dataset(make_dataset: MakeDataset) -> Path:
    """The dataset in version v1.0. Not to be changed."""
    return make_dataset("v1.0")


@pytest.fixture
def published(hub: Hub, dataset: Path) -> str:
    """The repository of the dataset, which is on the Hub and tagged v1.0 without a client's doing."""
    hub.publish(REPO, files_of(dataset), tag="v1.0")
    return REPO
