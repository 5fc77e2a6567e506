"""What goes wrong between a user and the Hub: one line each, exit code 2, and nothing published."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

from kcbench.hub.manifest import data_file
from tests.hub_server.clients import Client, Outcome
from tests.hub_server.faults import Fault
from tests.hub_server.running import GUEST, Hub


def check(done: Outcome, line: str) -> None:
    """One line, which begins as said and is no traceback."""
    assert (done.code, done.out) == (2, ""), done
    assert len(done.err.splitlines()) == 1, done.err
    assert done.err.startswith(f"error: {line}"), done.err


def test_bad_arguments(client: Client, hub: Hub, dataset: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(dataset, tmp_path / "damaged")
    (damaged / data_file("all")).write_bytes(b"PAR1")
    lost = shutil.copytree(dataset, tmp_path / "lost")
    (lost / data_file("level_1")).unlink()
    push = ("hub", "push", "--repo")
    to_repo = (*push, "lab/tasks", "--folder")
    cases = {
        (*push, "tasks", "--folder", dataset): "'tasks': is not the name of a dataset on the Hub (write ORG/NAME",
        (*push, "lab/tasks/x", "--folder", dataset): "'lab/tasks/x': is not the name of a dataset on the Hub (",
        (*push, "lab/ta sks", "--folder", dataset): "'lab/ta sks': is not the name of a dataset on the Hub (",
        (*push, "lab/a--b", "--folder", dataset): "'lab/a--b': is not the name of a dataset on the Hub (",
        (
            *push,
            "https://huggingface.co/datasets/lab/tasks",
        ): "'https://huggingface.co/datasets/lab/tasks': is not the name of a dataset",
        (*push, "lab/tasks@v1.0", "--folder", dataset): "--repo lab/tasks@v1.0: names a version (",
        (*to_repo, dataset, "--tag", "v 1"): "--tag 'v 1': is not the name of a version (",
        (*to_repo, dataset, "--tag", "main"): "--tag 'main': is not the name of a version (",
        (*to_repo, dataset, "--tag", "0123456789ab"): "--tag '0123456789ab': is not the name of a version (",
        (
            *to_repo,
            dataset,
            "--tag",
            "v2.0",
        ): "--tag v2.0: the dataset says that it is version v1.0 (push it with --tag v1.0, or ",
        (*to_repo, tmp_path / "none"): f"{tmp_path / 'none'}: there is no such folder",
        (*to_repo, tmp_path): f"{tmp_path}: is no dataset of kcbench: it has no kcbench.json",
        (*to_repo, damaged): f"{damaged / data_file('all')}: is not the file that kcbench.json names (",
        (*to_repo, lost): f"{lost / data_file('level_1')}: cannot be read: No such file or directory",
        ("hub", "pull", "lab", "--out", tmp_path / "out"): "'lab': is not the name of a dataset on the Hub (",
        ("hub", "pull", "lab/tasks@", "--out", tmp_path / "out"): "'lab/tasks@': is not the name of a revision (",
        ("hub", "pull", "lab/tasks@a..b", "--out", tmp_path / "out"): "'lab/tasks@a..b': is not the name of a revision (",
        (
            "hub",
            "pull",
            "lab/tasks",
            "--out",
            dataset / "README.md",
        ): f"{dataset / 'README.md'}: is there already, and is no folder (",
        ("tasks", "list", "--tasks", "hf://lab"): "'hf://lab': is not the name of a dataset on the Hub (",
    }
    for done, line in zip(client.all(list(cases)), cases.values(), strict=True):
        check(done, line)
    assert hub.conduct.log == []  # All of that is found out before the Hub is asked.


def test_no_token(hub: Hub, dataset: Path) -> None:
    push = ("hub", "push", "--repo", "lab/tasks", "--folder", dataset)
    check(Client(hub, "").kcbench(*push), "there is no access token for the Hub (run 'hf auth login', or set HF_TOKEN)")
    assert hub.conduct.log == []


def test_a_token_that_the_hub_does_not_take(hub: Hub, dataset: Path, tmp_path: Path) -> None:
    hub.publish("lab/tasks", {})
    push, pull = Client(hub, "hf_expired").all(
        [("hub", "push", "--repo", "lab/tasks", "--folder", dataset), ("hub", "pull", "lab/tasks", "--out", tmp_path / "out")]
    )
    check(push, "the Hub does not take your access token (run 'hf auth login', or set another HF_TOKEN)")
    check(pull, "lab/tasks: the Hub does not take your access token (")
    assert len(hub.repo("lab/tasks").commits) == 2


def test_no_right_to_write(hub: Hub, dataset: Path) -> None:
    hub.publish("lab/tasks", {})
    there, new = Client(hub, GUEST).all(
        [("hub", "push", "--repo", f"lab/{name}", "--folder", dataset) for name in ("tasks", "new")]
    )
    check(there, "lab/tasks: your access token does not permit it: you have no write access to lab/tasks (")
    check(
        new,
        "lab/new: your access token does not permit it: You don't have the rights to create a dataset under the namespace 'lab' (",
    )
    assert "lab/new" not in hub.store.repos
    assert not hub.conduct.asked("PUT", "")


def test_nothing_there(client: Client, hub: Hub, published: str, tmp_path: Path) -> None:
    repo, tag, tasks = client.all(
        [
            ("hub", "pull", "lab/none", "--out", tmp_path / "out"),
            ("hub", "pull", f"{published}@v9", "--out", tmp_path / "out"),
            ("tasks", "list", "--tasks", f"hf://{published}@v9"),
        ]
    )
    check(repo, "lab/none: there is no such dataset on the Hub (check the name; a private one needs a token")
    check(tag, "lab/tasks: has no revision 'v9' (check the tag, or leave it away)")
    check(tasks, "lab/tasks: has no revision 'v9' (")


def test_the_commit_is_refused(client: Client, hub: Hub, dataset: Path) -> None:
    lines = {
        403: "lab/tasks: your access token does not permit it",
        409: "lab/tasks: somebody else changed it at the same time",
        429: "lab/tasks: the Hub asks for fewer requests (wait",
        500: "lab/tasks: the Hub failed with status 500 (try again later; what was uploaded is not sent again)",
        418: "lab/tasks: the Hub refuses with status 418",
    }
    hub.conduct.faults += [Fault("POST", "/commit/main$", status=status, times=1) for status in lines]
    push = ("hub", "push", "-q", "--repo", "lab/tasks", "--folder", dataset, "--tag", "v1.0")
    for done, line in zip(client.all([push] * len(lines)), lines.values(), strict=True):
        check(done, line)
    repo = hub.repo("lab/tasks")
    assert len(repo.commits) == 1
    assert not repo.tags


def test_an_upload_is_refused(client: Client, hub: Hub, dataset: Path) -> None:
    hub.conduct.faults.append(Fault("PUT", "^/lfs/", status=403, skip=1))
    done = client.kcbench("hub", "push", "-q", "--repo", "lab/tasks", "--folder", dataset)
    check(done, "lab/tasks: your access token does not permit it")
    assert len(hub.repo("lab/tasks").commits) == 1


def test_no_hub(hub: Hub, dataset: Path, tmp_path: Path) -> None:
    commands = [
        ("hub", "push", "--repo", "lab/tasks", "--folder", dataset),
        ("hub", "pull", "lab/tasks", "--out", tmp_path / "out"),
    ]
    push, pull = Client(hub, extra={"HF_ENDPOINT": "http://127.0.0.1:9"}).all(commands)
    check(push, "http://127.0.0.1:9 cannot be reached: ")
    check(pull, "lab/tasks: http://127.0.0.1:9 cannot be reached: ")
    [offline] = Client(hub, extra={"HF_HUB_OFFLINE": "1"}).all(commands[1:])
    check(offline, "lab/tasks: the Hub may not be asked while HF_HUB_OFFLINE is set (unset it)")
