"""``--tasks``: scoring on tasks that did not come with kcbench."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

from kcbench.hub import manifest
from tests.hub.conftest import OWN_TASK, REPO, MakeDataset
from tests.hub.test_pull import advance
from tests.hub_server.clients import Client, files_of
from tests.hub_server.running import Hub

KERNEL = f"""# kcbench: task={OWN_TASK}
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, 0.0)
"""
"""Turns NaN into zero, which a rectifier must not."""


def ids(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()[1:]]


def test_list_and_show(client: Client, hub: Hub, published: str, make_dataset: MakeDataset) -> None:
    advance(hub, make_dataset("v1.1", without="level1/softmax"))
    tagged, newest, shown, as_json, missing = client.all(
        [
            ("tasks", "list", "--tasks", f"hf://{published}@v1.0"),
            ("tasks", "list", "--tasks", f"hf://{published}"),
            ("tasks", "show", OWN_TASK, "--tasks", f"hf://{published}"),
            ("tasks", "list", "--json", "--tasks", f"hf://{published}"),
            ("tasks", "show", "level1/softmax", "--tasks", f"hf://{published}"),
        ]
    )
    assert ids(tagged.out) == [OWN_TASK, "level1/softmax"]
    assert ids(newest.out) == [OWN_TASK]
    assert shown.out.startswith(f"{OWN_TASK}  ")
    assert [row["id"] for row in json.loads(as_json.out)] == [OWN_TASK]
    assert missing.code == 2
    assert missing.err.startswith("error: ")
    assert "there is no task 'level1/softmax'" in missing.err


def test_a_revision_is_fetched_once_and_then_needs_no_hub(client: Client, hub: Hub, published: str) -> None:
    spec = f"hf://{published}@{hub.repo(REPO).head}"
    first, second = client.all([("tasks", "list", "--tasks", spec)] * 2)
    assert ids(first.out) == ids(second.out) == [OWN_TASK, "level1/softmax"]
    assert len(hub.conduct.asked("GET", f"/resolve/.*{manifest.data_file('all')}$")) == 1
    away = Client(hub, extra={"HF_ENDPOINT": "http://127.0.0.1:9"})
    offline, moving = away.all([("tasks", "list", "--tasks", spec), ("tasks", "list", "--tasks", f"hf://{published}")])
    assert ids(offline.out) == ids(first.out)
    assert moving.code == 2
    assert "http://127.0.0.1:9 cannot be reached" in moving.err


def test_folders(client: Client, dataset: Path, task_root: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(dataset, tmp_path / "copy")
    table = copy / manifest.data_file("all")
    table.write_bytes(table.read_bytes()[:-9])
    (tmp_path / "empty").mkdir()
    folders = (dataset, task_root, copy, tmp_path / "empty", tmp_path / "none")
    built, plain, damaged, empty, none = client.all([("tasks", "list", "--tasks", folder) for folder in folders])
    assert ids(built.out) == ids(plain.out) == [OWN_TASK, "level1/softmax"]
    assert damaged.err.startswith(f"error: {table}: is not the file that kcbench.json names (")
    assert empty.err.startswith(f"error: --tasks {tmp_path / 'empty'}: holds no tasks: it has neither tasks/ nor kcbench.json (")
    assert none.err.startswith(f"error: --tasks {tmp_path / 'none'}: there is no such folder (")
    assert {damaged.code, empty.code, none.code} == {2}
    assert client.hub.conduct.log == []


def test_datasets_that_cannot_be_used(client: Client, hub: Hub, dataset: Path) -> None:
    files = files_of(dataset)
    facts = json.loads(files[manifest.NAME])
    table = manifest.data_file("all")
    damaged = files[table][:-9]
    digests = {**facts["files"], table: hashlib.sha256(damaged).hexdigest()}
    hub.publish("lab/newer", files | {manifest.NAME: json.dumps({**facts, "format": manifest.FORMAT + 1}).encode()})
    hub.publish("lab/damaged", files | {table: damaged, manifest.NAME: json.dumps({**facts, "files": digests}).encode()})
    newer, broken = client.all([("tasks", "list", "--tasks", f"hf://lab/{name}") for name in ("newer", "damaged")])
    assert (newer.code, broken.code) == (2, 2)
    assert "the dataset has format 2, and this kcbench reads formats up to 1 (pip install -U kcbench, or " in newer.err
    assert f"{table}: is no Parquet file that can be read: " in broken.err
    assert len(newer.err.splitlines()) == len(broken.err.splitlines()) == 1


def test_eval_and_repro(
    client: Client, hub: Hub, dataset: Path, published: str, make_dataset: MakeDataset, tmp_path: Path
) -> None:
    """The run names the commit, so that a reproduction finds the task although the dataset has moved on."""
    pytest.importorskip("torch")
    commit = hub.repo(REPO).head
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL)
    run = tmp_path / "run"
    options = ("--out", run, "--gates", "EXC-01", "--legacy", "none", "--jobs", "1", "--seed", "1", "-q")
    unknown, scored = client.all([("eval", kernel, *options), ("eval", kernel, "--tasks", f"hf://{published}", *options)])
    assert unknown.code == 2
    assert "unknown task 'level1/rectifier'" in unknown.err
    assert scored.code == 0, scored.err
    header = json.loads((run / "run.json").read_text())
    assert header["options"]["tasks"] == f"hf://{published}@{commit}"
    assert list(header["tasks"]) == [OWN_TASK]
    [line] = (run / "verdicts.jsonl").read_text().splitlines()
    [verdict] = [item for item in json.loads(line)["verdicts"] if item["gate"] == "EXC-01"]
    assert verdict["status"] == "FAIL"
    assert verdict["findings"][0]["code"] == "absorbed"

    advance(hub, make_dataset("v1.1", without=OWN_TASK))
    [repro] = client.all([("repro", run, "kernel", "EXC-01")])
    assert repro.code == 0, repro.err
    assert (run / "repro" / "kernel-EXC-01.py").is_file()


def test_tasks_do_not_go_with_other_problems(client: Client, tmp_path: Path) -> None:
    [done] = client.all([("eval", tmp_path, "--tasks", "hf://lab/tasks", "--problem", tmp_path / "p.py")])
    assert (done.code, done.err) == (2, "error: --tasks: the submissions bring their own problems (leave --tasks away)\n")


def test_unpacked_tasks_are_those_that_were_built(client: Client, hub: Hub, published: str, task_root: Path) -> None:
    client.kcbench("tasks", "list", "--tasks", f"hf://{published}")
    [root] = (hub.folder / "home" / "kcbench" / "datasets" / "lab--tasks" / hub.repo(REPO).head).iterdir()
    assert files_of(root) == {name: data for name, data in files_of(task_root).items() if name != "CITATION.cff"}


def test_the_hub_layer_loads_nothing_heavy() -> None:
    """Neither torch nor the clients, before they are needed."""
    modules = "kcbench.hub.push, kcbench.hub.pull, kcbench.hub.source, kcbench.hub.remote"
    heavy = ("torch", "numpy", "polars", "pyarrow", "huggingface_hub", "datasets")
    code = f"import sys, {modules}\nfound = [name for name in {heavy!r} if name in sys.modules]\nassert not found, found\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
