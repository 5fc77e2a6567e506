"""``kcbench hub pull``, and ``datasets.load_dataset`` of the same repository."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

from kcbench.hub import manifest
from tests.hub.conftest import OWN_TASK, REPO, MakeDataset
from tests.hub_server.clients import Client, files_of, finish
from tests.hub_server.faults import Fault
from tests.hub_server.running import Hub
from tests.hub_server.store import Commit

TABLE = manifest.data_file("level_1")


def advance(hub: Hub, folder: Path) -> None:
    """Let main hold another dataset."""
    repo = hub.repo(REPO)
    tree = {path: hub.store.put(data, large=path.endswith(".parquet")) for path, data in files_of(folder).items()}
    repo.add(Commit(tree, "newer", repo.head), "main")


def test_pull_a_tag_and_the_newest(
    client: Client, hub: Hub, dataset: Path, published: str, make_dataset: MakeDataset, tmp_path: Path
) -> None:
    newer = make_dataset("v1.1", without="level1/softmax")
    advance(hub, newer)
    repo = hub.repo(REPO)
    tagged, newest, again, other = client.all(
        [
            ("hub", "pull", f"{published}@v1.0", "--out", tmp_path / "a" / "old"),
            ("hub", "pull", published, "--out", tmp_path / "new"),
            ("hub", "pull", f"hf://datasets/{published}", "--out", tmp_path / "new"),
            ("hub", "pull", f"{published}@v1.0", "--out", tmp_path / "new"),
        ]
    )
    assert (tagged.code, tagged.err) == (0, "")
    assert tagged.out == f"{tmp_path / 'a' / 'old'}: lab/tasks@v1.0, commit {repo.refs['v1.0']}\n"
    assert files_of(tmp_path / "a" / "old") == files_of(dataset)
    assert newest.out == f"{tmp_path / 'new'}: lab/tasks, commit {repo.head}\n"
    assert files_of(tmp_path / "new") == files_of(newer)
    assert (again.code, again.out) == (0, f"{tmp_path / 'new'}: lab/tasks, commit {repo.head}; it was there already\n")
    assert (other.code, other.out) == (2, "")
    assert other.err.startswith(f"error: {tmp_path / 'new'}: holds something else already (")
    assert files_of(tmp_path / "new") == files_of(newer)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "hub", "new"]


def test_load_dataset_by_config_and_revision_and_streaming(
    client: Client, hub: Hub, published: str, make_dataset: MakeDataset
) -> None:
    advance(hub, make_dataset("v1.1", without="level1/softmax"))
    script = f"""
import datasets, json
load = lambda *names, **how: datasets.load_dataset({published!r}, *names, split="test", **how)
print(json.dumps({{
    "tagged": load("level_1", revision="v1.0")["id"][:],
    "newest": load("level_1")["id"][:],
    "default": load()["id"][:],
    "references": load("references", revision="v1.0")["id"][:],
    "streamed": [row["id"] for row in load("all", revision="v1.0", streaming=True)],
    "splits": datasets.get_dataset_split_names({published!r}, "all", revision="v1.0"),
    "configs": datasets.get_dataset_config_names({published!r}, revision="v1.0"),
}}))
"""
    seen = client.json(script)
    both = [OWN_TASK, "level1/softmax"]
    assert {name: sorted(seen[name]) for name in ("tagged", "references", "streamed")} == dict.fromkeys(
        ("tagged", "references", "streamed"), both
    )
    assert seen["newest"] == seen["default"] == [OWN_TASK]
    assert seen["splits"] == [manifest.SPLIT]
    assert set(seen["configs"]) == {"all", "level_1", "references"}
    assert any(path.endswith(manifest.data_file("all")) for path in hub.conduct.ranges)  # What is streamed is read in parts.


def test_a_killed_pull_leaves_nothing_and_goes_on(
    client: Client, hub: Hub, dataset: Path, published: str, tmp_path: Path
) -> None:
    stall = Fault("GET", f"/resolve/.*/{manifest.data_file('references')}$")
    hub.conduct.faults.append(stall)
    out = tmp_path / "out"
    process = client.start("-m", "kcbench", "hub", "pull", published, "--out", out)
    assert stall.reached.wait(60)
    process.send_signal(signal.SIGKILL)
    assert finish(process).code == -signal.SIGKILL
    assert not out.exists()
    hub.conduct.faults.clear()
    assert client.kcbench("hub", "pull", published, "--out", out).code == 0
    assert files_of(out) == files_of(dataset)


def test_a_damaged_cache_is_mended(client: Client, hub: Hub, dataset: Path, published: str, tmp_path: Path) -> None:
    assert client.kcbench("hub", "pull", published, "--out", tmp_path / "a").code == 0
    [kept] = (hub.folder / "home").glob(f"hub/datasets--lab--tasks/snapshots/*/{TABLE}")
    size = kept.stat().st_size
    kept.resolve().write_bytes(b"\0" * size)
    assert client.kcbench("hub", "pull", published, "--out", tmp_path / "b").code == 0
    assert files_of(tmp_path / "b") == files_of(dataset)


def test_a_hub_that_sends_something_else_is_not_believed(client: Client, hub: Hub, published: str, tmp_path: Path) -> None:
    entry = hub.repo(REPO).commits[hub.repo(REPO).head].tree[TABLE]
    hub.store.blob(entry.blob).write_bytes(b"\0" * entry.size)
    done = client.kcbench("hub", "pull", published, "--out", tmp_path / "out")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("error: lab/tasks: the Hub sends another data/")
    assert not (tmp_path / "out").exists()


def test_what_is_no_dataset_of_kcbench(client: Client, hub: Hub, dataset: Path, tmp_path: Path) -> None:
    files = files_of(dataset)
    hub.publish("lab/other", {"README.md": b"# Another dataset\n"})
    hub.publish("lab/changed", files | {TABLE: files[TABLE] + b"\0"})
    facts = json.loads(files[manifest.NAME])
    hub.publish("lab/newer", files | {manifest.NAME: json.dumps({**facts, "format": manifest.FORMAT + 1}).encode()})
    hub.publish("lab/rows", {"data/rows.parquet": b"no table"})
    hub.publish("lab/outside", files | {"../outside.txt": b"not here"})
    names = ("other", "changed", "newer", "rows", "outside")
    done = dict(zip(names, client.all([("hub", "pull", f"lab/{name}", "--out", tmp_path / name) for name in names]), strict=True))
    assert all(outcome.code == 2 and len(outcome.err.splitlines()) == 1 for outcome in done.values()), done
    assert "is no dataset of kcbench: it has no kcbench.json" in done["other"].err
    assert f"{TABLE}: is not the file that kcbench.json names (" in done["changed"].err
    assert "the dataset has format 2, and this kcbench reads formats up to 1 (" in done["newer"].err
    assert done["outside"].err.startswith("error: lab/outside@")
    assert "has a file '../outside.txt', which leads out of any folder (" in done["outside"].err
    assert "rows.parquet: is no Parquet file that can be read" in done["rows"].err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hub"]
