"""The dataset that is built: its rows, its card, its metadata, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from kcbench.errors import KcbenchError
from kcbench.hub import build as building
from kcbench.hub.build import build
from kcbench.hub.columns import REFERENCES, TASKS, columns
from kcbench.hub.figures import Figures
from kcbench.hub.manifest import Manifest, data_file
from kcbench.hub.parquet import digest, read
from tests.dataset.conftest import TASKS as FEW
from tests.dataset.conftest import copy_tasks

CONFIGS = {"all": 5, "level_1": 3, "level_2": 1, "level_4": 1, "references": 5}


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _head(folder: Path) -> Any:
    _, head, _ = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(head)


def test_rows_say_what_the_tasks_say(built: Path, few_tasks: Path) -> None:
    rows = read(built / data_file("all"), TASKS)
    assert [row["id"] for row in rows] == list(FEW)
    for row in rows:
        folder = few_tasks / "tasks" / row["id"]
        contract = json.loads((folder / "contract.json").read_text("utf-8"))
        assert row["code"] == (folder / "task.py").read_text("utf-8")
        assert row["contract"] == (folder / "contract.json").read_text("utf-8")
        assert (row["title"], row["formula"], row["dtypes"]) == (contract["title"], contract["formula"], contract["dtypes"])
    softmax = rows[2]
    assert (softmax["level"], softmax["name"], softmax["category"]) == (1, "softmax", "normalization")
    assert softmax["shapes"] == ["x: float[batch_size=1024, dim=16384]"]
    assert (softmax["kernelbench_level"], softmax["kernelbench_problem_id"]) == (1, 23)
    assert rows[0]["kernelbench_level"] is rows[0]["kernelbench_problem_id"] is None
    assert [row["repairs"] for row in rows] == [None, None, None, "level1/matmul", None]


def test_gates_are_those_that_plan_something(built: Path) -> None:
    asked = {row["id"]: set(row["gates"]) for row in read(built / data_file("all"), TASKS)}
    every = {"CMP-01", "CMP-03", "ORD-02", "PRC-01", "EXC-01", "EXC-02", "RES-01", "RES-02"}
    assert all(every <= gates and "GUARD" not in gates for gates in asked.values())
    assert {"ORD-01", "ORD-03", "PRC-02"} <= asked["level1/matmul"]
    assert not {"ORD-01", "ORD-03", "PRC-02"} & asked["level1/relu"], "it sums nothing"
    assert "ORD-01" not in asked["level4/gated_delta_rule"], "tokens act in their order"


def test_each_configuration_has_its_rows(built: Path) -> None:
    manifest = Manifest.read(built)
    assert (manifest.version, manifest.configs) == ("1.2.0", CONFIGS)
    everything = read(built / data_file("all"), TASKS)
    by_level = [row for config in ("level_1", "level_2", "level_4") for row in read(built / data_file(config), TASKS)]
    assert by_level == everything
    references = read(built / data_file("references"), REFERENCES)
    assert [row["id"] for row in references] == list(FEW)
    assert not {"reference_code"} & {column.name for column in columns(TASKS)}, "references stand apart"


def test_equal_tasks_give_equal_bytes(built: Path, few_tasks: Path, tmp_path: Path) -> None:
    build(tmp_path / "again", version="1.2.0", root=few_tasks, repo="someone/kernels", published="2026-01-31")
    assert _files(tmp_path / "again") == _files(built)


def test_card(built: Path) -> None:
    head, text = _head(built), (built / "README.md").read_text("utf-8")
    assert (head["license"], head["language"], head["size_categories"]) == ("apache-2.0", ["en"], ["n<1K"])
    assert [config["config_name"] for config in head["configs"]] == list(CONFIGS)
    assert [config["config_name"] for config in head["configs"] if config.get("default")] == ["all"]
    for config in head["configs"]:
        ((split, path),) = ((item["split"], item["path"]) for item in config["data_files"])
        assert split == "test"
        assert pq.read_metadata(built / path).num_rows == CONFIGS[config["config_name"]]
    assert 'load_dataset("someone/kernels", "level_1", split="test", revision="1.2.0")' in text
    assert "| 1 | 3 | activation 1, matmul 1, normalization 1 | 2 | 0 |" in text
    assert "| 2 | 1 | fused 1 | 0 | 1 |" in text
    assert "| ORD-01 | summation order | 3 |" in text
    assert all(f"| `{column.name}` |" in text for column in (*columns(TASKS), *columns(REFERENCES)))


def test_card_metadata_is_what_the_hubs_client_reads(built: Path) -> None:
    from huggingface_hub import DatasetCard

    data = DatasetCard.load(built / "README.md").data
    assert (data.license, data.pretty_name, data.task_categories) == ("apache-2.0", "kcbench tasks", ["text-generation"])


def test_eval_yaml_names_what_there_is(built: Path) -> None:
    data = yaml.safe_load((built / "eval.yaml").read_text("utf-8"))
    assert set(data) == {"name", "description", "tasks"}, "the Hub refuses a framework that is not on its list"
    assert data["description"].startswith("5 tasks ")
    assert [task["id"] for task in data["tasks"]] == ["all", "level_1", "level_2", "level_4"]
    assert all(task["config"] in CONFIGS and task["split"] == "test" for task in data["tasks"])


def test_croissant_is_valid_and_finds_the_rows(built: Path) -> None:
    import mlcroissant

    dataset = mlcroissant.Dataset(jsonld=built / "croissant.json")
    issues = dataset.metadata.ctx.issues
    assert (set(issues.errors), set(issues.warnings)) == (set(), set())
    assert dataset.metadata.version == "1.2.0"
    assert dataset.metadata.url == "https://huggingface.co/datasets/someone/kernels"
    first = next(iter(dataset.records("level_1")))
    assert first["level_1/id"] == b"level1/matmul"
    assert first["level_1/dtypes"] == [b"float32", b"float16", b"bfloat16"]
    assert sum(1 for _ in dataset.records("references")) == 5


def test_croissant_and_manifest_name_the_same_files(built: Path) -> None:
    listed = json.loads((built / "croissant.json").read_text("utf-8"))["distribution"]
    found = {path.relative_to(built).as_posix(): digest(path) for path in built.glob("data/*/*.parquet")}
    assert {item["contentUrl"]: item["sha256"] for item in listed} == found == Manifest.read(built).files


LOAD = """
import json, sys
from datasets import get_dataset_config_names, load_dataset

folder, level = sys.argv[1], load_dataset(sys.argv[1], "level_1", split="test")
print(json.dumps({
    "configs": get_dataset_config_names(folder),
    "ids": level["id"],
    "types": {name: str(feature) for name, feature in level.features.items()},
    "default": load_dataset(folder, split="test").num_rows,
    "streamed": [row["id"] for row in load_dataset(folder, "references", split="test", streaming=True)],
}, default=list))
"""


def test_datasets_loads_it(built: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run([sys.executable, "-c", LOAD, str(built)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert sorted(seen["configs"]) == sorted(CONFIGS)
    assert seen["ids"] == list(FEW[:3])
    assert seen["default"] == 5
    assert seen["streamed"] == list(FEW)
    assert (seen["types"]["level"], seen["types"]["code"]) == ("Value('int64')", "Value('string')")
    assert seen["types"]["gates"] == "List(Value('string'))"


def test_a_former_build_is_replaced_and_anything_else_is_not(built: Path, few_tasks: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    folder.mkdir()
    build(folder, version="1", root=few_tasks)
    (folder / "data" / "stray").write_text("left over", encoding="utf-8")
    build(folder, version="2", root=few_tasks)
    assert Manifest.read(folder).version == "2"
    assert not (folder / "data" / "stray").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]

    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(KcbenchError, match=r"thesis: holds something else than a build \(name a folder"):
        build(other, root=few_tasks)
    with pytest.raises(KcbenchError, match="is in the way"):
        build(other / "chapter.tex", root=few_tasks)
    assert _files(other) == {"chapter.tex": b"years of work"}


def test_a_build_that_fails_leaves_nothing(few_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "dataset", version="1", root=few_tasks)
    before = _files(tmp_path / "dataset")

    def fail(*_: object, **__: object) -> str:
        raise RuntimeError("the power went out")

    monkeypatch.setattr(building, "card", fail)
    with pytest.raises(RuntimeError):
        build(tmp_path / "dataset", version="2", root=few_tasks)
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]
    assert _files(tmp_path / "dataset") == before


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("tasks/level1/relu/contract.json", "task level1/relu has no contract"),
        ("tasks/level1/relu/task.py", "task level1/relu has no code"),
        ("references/level1/relu.py", "task level1/relu has no reference"),
    ],
)
def test_an_incomplete_task_is_refused(missing: str, message: str, tmp_path: Path) -> None:
    root = copy_tasks(tmp_path / "root")
    (root / missing).unlink()
    with pytest.raises(KcbenchError, match=message) as error:
        build(tmp_path / "dataset", root=root)
    assert missing in str(error.value)
    assert not (tmp_path / "dataset").exists()


def test_what_cannot_be_published_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty" / "tasks").mkdir(parents=True)
    with pytest.raises(KcbenchError, match="there is no task"):
        build(tmp_path / "dataset", root=tmp_path / "empty")
    root = copy_tasks(tmp_path / "root")
    for kind in ("tasks", "references"):
        (root / kind / "level4").rename(root / kind / "extra")
    with pytest.raises(KcbenchError, match="a published task lies in a level"):
        build(tmp_path / "dataset", root=root)


def test_figures_count_rows() -> None:
    row = {"level": 3, "category": "fused", "dtypes": ["float32"], "gates": ["CMP-01"]}
    rows = [
        {**row, "kernelbench_problem_id": 4, "repairs": None},
        {**row, "kernelbench_problem_id": None, "repairs": "level3/other", "gates": []},
    ]
    figures = Figures.of(rows * 600)
    assert (figures.tasks, figures.kernelbench, figures.repairs, figures.size_category) == (1200, 600, 600, "1K<n<10K")
    assert {name: tasks for name, _, tasks in figures.gates}["CMP-01"] == 600
    assert len(figures.gates) == 12
