"""``kcbench hub push-results``: a file of each table for each run, by commit or by pull request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

from kcbench.hub import parquet
from kcbench.hub.columns import RESULTS
from kcbench.report.store import RunFolder
from tests.hub_server.clients import Client
from tests.hub_server.running import GUEST, Hub
from tests.hub_server.store import Entry
from tests.report.conftest import HEADER, result

REPO = "lab/results"
LOAD = """
import datasets, json
rows = datasets.load_dataset("lab/results", split="train")
details = datasets.load_dataset("lab/results", "submissions", split="train")
assert details["submission"] == sorted(set(rows["submission"])), details["submission"]
print(json.dumps([[row["submission"], row["gate"], row["code"], row["seed"], row["sandbox"]] for row in rows]))
"""


def run_folder(path: Path, *names: str, **header: Any) -> Path:
    """A run with a refused submission for each name; made again, it goes on."""
    with RunFolder.create(path, {**HEADER, **header}) as folder:
        for name in names:
            folder.append(result(name, "PRC-01.tf32"))
    return path


def tree(hub: Hub, revision: str = "main") -> dict[str, Entry]:
    repo = hub.repo(REPO)
    return {path: entry for path, entry in repo.commits[repo.find(revision)].tree.items() if path != ".gitattributes"}


def test_a_run_is_a_file_of_each_table_and_is_added_once(client: Client, hub: Hub, tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", "a")
    second = run_folder(tmp_path / "second", "b", seed=8)
    push = [("hub", "push-results", run, "--repo", REPO) for run in (first, second, first)]
    added, other, again = client.all(push)
    assert [added.code, other.code, again.code] == [0, 0, 0]
    assert added.out == f"lab/results: 3 files changed; {hub.url}/datasets/lab/results\n"
    assert again.out == f"lab/results: nothing to add; {hub.url}/datasets/lab/results\n"
    assert len(tree(hub)) == 5
    assert len(hub.repo(REPO).commits) == 3  # The Hub's own, and one for each run.

    rows = client.json(LOAD)
    assert {(row[0], row[3], row[4]) for row in rows} == {("a", "7", "process"), ("b", "8", "process")}
    assert [row[0] for row in rows if row[1:3] == ["PRC-01", "PRC-01.tf32"]] == sorted("ab")

    run_folder(first, "c")
    [grown] = client.all(push[:1])
    assert grown.out.startswith("lab/results: 4 files changed; ")  # Those of the run as it was are replaced.
    assert len(tree(hub)) == 5
    tables = [parquet.read(hub.store.blob(entry.blob), RESULTS) for path, entry in tree(hub).items() if path.startswith("data/")]
    assert sorted(sorted({row["submission"] for row in table}) for table in tables) == [["a", "c"], ["b"]]


def test_a_guest_proposes_by_pull_request(hub: Hub, tmp_path: Path) -> None:
    hub.publish(REPO, {"README.md": b"# Results\n"})
    head = hub.repo(REPO).head
    run = run_folder(tmp_path / "run", "a")
    push = ("hub", "push-results", run, "--repo", REPO)
    refused, proposed, again = Client(hub, GUEST).all([push, (*push, "--pr"), (*push, "--pr")])
    assert refused.code == 2
    assert refused.err.startswith(
        "error: lab/results: your access token does not permit it: you have no write access to lab/results ("
    )
    url = f"{hub.url}/datasets/lab/results/discussions/1"
    assert (proposed.code, proposed.out) == (0, f"lab/results@refs/pr/1: 2 files changed; {url}\n")
    assert (again.code, again.out) == (0, f"lab/results@refs/pr/1: nothing to add; {url}\n")
    repo = hub.repo(REPO)
    assert repo.head == head
    assert [(pull.number, pull.author) for pull in repo.pulls] == [(1, "bob")]
    added = sorted(tree(hub, "refs/pr/1").keys() - tree(hub).keys())
    assert [name.partition("/")[0] for name in added] == ["data", "submissions"]

    # Once it is merged, there is nothing left to propose.
    repo.refs["main"], repo.pulls[0].status = repo.find("refs/pr/1"), "merged"
    [late] = Client(hub, GUEST).all([(*push, "--pr")])
    assert (late.code, late.out) == (0, f"lab/results: nothing to add; {hub.url}/datasets/lab/results\n")
    [pulled] = Client(hub, GUEST).all([("hub", "pull", REPO, "--out", tmp_path / "out")])
    assert pulled.code == 0, pulled.err
    for name in added:
        assert (tmp_path / "out" / name).read_bytes() == hub.store.blob(repo.commits[repo.head].tree[name].blob).read_bytes()


def test_what_cannot_be_published(client: Client, tmp_path: Path) -> None:
    empty = run_folder(tmp_path / "empty")
    nothing, no_run, no_repo = client.all(
        [
            ("hub", "push-results", empty, "--repo", REPO),
            ("hub", "push-results", tmp_path, "--repo", REPO),
            ("hub", "push-results", run_folder(tmp_path / "run", "a"), "--repo", REPO, "--pr"),
        ]
    )
    assert (nothing.code, nothing.err) == (2, f"error: {empty}: the run has no results yet\n")
    assert (no_run.code, no_run.err) == (2, f"error: {tmp_path}: is not a run folder: it has no run.json\n")
    assert no_repo.code == 2
    assert no_repo.err.startswith("error: lab/results: there is no such dataset on the Hub (")
