"""``kcbench hub push``, with the real client against a loopback Hub."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

from kcbench.hub.manifest import Manifest
from tests.hub.conftest import REPO, MakeDataset
from tests.hub_server.clients import Client, files_of, finish
from tests.hub_server.faults import Fault
from tests.hub_server.running import GUEST, Hub

UPLOAD = r"^/lfs/[0-9a-f]{64}$"


def content(hub: Hub, revision: str) -> dict[str, bytes]:
    """The files of a revision of the dataset, without the one that the Hub makes itself."""
    repo = hub.repo(REPO)
    tree = repo.commits[repo.find(revision)].tree
    return {path: hub.store.blob(entry.blob).read_bytes() for path, entry in tree.items() if path != ".gitattributes"}


def test_push_is_one_commit_and_a_tag(client: Client, hub: Hub, dataset: Path) -> None:
    done = client.kcbench("hub", "push", "--repo", REPO, "--folder", dataset, "--tag", "v1.0")
    assert done.code == 0, done.err
    assert done.out == f"lab/tasks@v1.0: {len(files_of(dataset))} files changed; {hub.url}/datasets/lab/tasks\n"
    assert len(done.err.splitlines()) == len(files_of(dataset))
    repo = hub.repo(REPO)
    assert content(hub, "v1.0") == content(hub, "main") == files_of(dataset)
    assert len(repo.commits) == 2  # The Hub's own, and this one.
    assert {path for path, entry in repo.commits[repo.head].tree.items() if entry.large} == set(Manifest.read(dataset).files)
    assert not repo.private

    hub.conduct.log.clear()
    again = client.kcbench("hub", "push", "--repo", REPO, "--folder", dataset, "--tag", "v1.0")
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith("lab/tasks@v1.0: nothing to add; ")
    assert not hub.conduct.asked("PUT", "") + hub.conduct.asked("POST", "/(commit|tag|preupload)/")


def test_a_new_version_leaves_the_old_one_alone(
    client: Client, hub: Hub, dataset: Path, published: str, make_dataset: MakeDataset
) -> None:
    smaller = make_dataset("v1.1", without="level1/softmax")
    (hub.folder / "extra").mkdir()
    folder = shutil.copytree(smaller, hub.folder / "extra" / "dataset")
    (folder / "CITATION.cff").unlink()
    done = client.kcbench("hub", "push", "-q", "--repo", published, "--folder", folder, "--tag", "v1.1")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert content(hub, "v1.0") == files_of(dataset)
    assert content(hub, "v1.1") == content(hub, "main") == files_of(folder)
    assert ".gitattributes" in hub.repo(REPO).commits[hub.repo(REPO).head].tree


def test_a_published_version_does_not_change(
    client: Client, hub: Hub, dataset: Path, published: str, make_dataset: MakeDataset
) -> None:
    other = make_dataset("v1.0", without="level1/softmax")
    before = hub.repo(REPO).head
    done = client.kcbench("hub", "push", "--repo", published, "--folder", other, "--tag", "v1.0")
    assert done.code == 2
    assert done.err.startswith("error: lab/tasks@v1.0: is published already, with another content (")
    assert hub.repo(REPO).head == before
    assert not hub.conduct.asked("PUT", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)], ids=["kill", "ctrl-c"])
def test_an_interrupted_push_goes_on(number: signal.Signals, code: int, client: Client, hub: Hub, dataset: Path) -> None:
    stall = Fault("PUT", UPLOAD, skip=1)
    hub.conduct.faults.append(stall)
    push = ("hub", "push", "--repo", REPO, "--folder", dataset, "--tag", "v1.0")
    process = client.start("-m", "kcbench", *push)
    assert stall.reached.wait(60)
    process.send_signal(number)
    done = finish(process)
    assert done.code == code
    if number is signal.SIGINT:
        assert done.err.splitlines()[-1] == "interrupted; the same command goes on where it stopped"
    repo = hub.repo(REPO)
    assert len(repo.commits) == 1  # Only what the Hub makes itself: nothing is half-published.
    assert not repo.tags
    sent, unsent = hub.conduct.asked("PUT", UPLOAD)

    hub.conduct.faults.clear()
    hub.conduct.log.clear()
    assert client.kcbench(*push).code == 0
    assert hub.conduct.asked("PUT", UPLOAD) == [unsent]  # One level, so that "all" and "level_1" are the same object.
    assert sent != unsent
    assert content(hub, "v1.0") == files_of(dataset)
    assert len(repo.commits) == 2


def test_a_push_that_lost_its_tag_only_tags(client: Client, hub: Hub, dataset: Path) -> None:
    hub.conduct.faults.append(Fault("POST", "/tag/", status=500))
    push = ("hub", "push", "--repo", REPO, "--folder", dataset, "--tag", "v1.0")
    failed = client.kcbench(*push)
    assert failed.code == 2
    assert failed.err.splitlines()[-1].startswith("error: lab/tasks: the Hub failed with status 500 (")
    assert not hub.repo(REPO).tags
    hub.conduct.faults.clear()
    hub.conduct.log.clear()
    assert client.kcbench(*push).code == 0
    assert hub.repo(REPO).tags == {"v1.0": hub.repo(REPO).head}
    assert not hub.conduct.asked("POST", "/commit/")


def test_two_pushes_at_a_time_do_not_mix(
    client: Client, hub: Hub, dataset: Path, published: str, make_dataset: MakeDataset
) -> None:
    stall = Fault("PUT", UPLOAD)
    hub.conduct.faults.append(stall)
    newer = make_dataset("v1.1", without="level1/softmax")
    push = client.start("-m", "kcbench", "hub", "push", "-q", "--repo", published, "--folder", newer, "--tag", "v1.1")
    assert stall.reached.wait(60)
    repo = hub.repo(REPO)
    tree = dict(repo.commits[repo.head].tree)
    del tree["CITATION.cff"]
    other = repo.add(type(repo.commits[repo.head])(tree, "somebody else", repo.head), "main")
    hub.conduct.faults.clear()
    stall.release.set()
    done = finish(push)
    assert done.code == 2
    assert done.err.startswith("error: lab/tasks: somebody else changed it at the same time: A commit has happened since.")
    assert repo.head == other
    assert "v1.1" not in repo.tags


def test_private(client: Client, hub: Hub, dataset: Path) -> None:
    assert client.kcbench("hub", "push", "--repo", "lab/hidden", "--folder", dataset, "--private").code == 0
    assert hub.repo("lab/hidden").private
    assert not hub.repo("lab/hidden").tags
    guest = Client(hub, GUEST).kcbench("hub", "pull", "lab/hidden", "--out", hub.folder / "out")
    assert guest.code == 2
    assert guest.err.startswith("error: lab/hidden: there is no such dataset on the Hub (")


def test_private_is_not_promised_of_what_is_public(client: Client, dataset: Path, published: str, hub: Hub) -> None:
    done = client.kcbench("hub", "push", "--repo", published, "--folder", dataset, "--private")
    assert done.code == 2
    assert done.err.startswith("error: lab/tasks: is there already, and public (")
    assert not hub.conduct.asked("POST", "/commit/")


def test_without_a_folder_the_dataset_is_built(client: Client, hub: Hub, dataset: Path, task_root: Path) -> None:
    """The tasks that come with kcbench are many; the test puts two in their place."""
    script = f"import pathlib\nfrom kcbench.hub import build\nbuild.data_root = lambda: pathlib.Path({str(task_root)!r})\n"
    script += f"import sys\nsys.argv = ['kcbench', 'hub', 'push', '--repo', {REPO!r}, '--tag', 'v1.0']\n"
    done = finish(client.start("-c", f"{script}from kcbench.cli.app import main\nmain()"))
    assert done.code == 0, done.err
    built = content(hub, "v1.0")
    tables = {name: data for name, data in files_of(dataset).items() if name.endswith(".parquet")}
    assert {name: data for name, data in built.items() if name.endswith(".parquet")} == tables
    assert built.keys() == files_of(dataset).keys()
    assert b'load_dataset("lab/tasks"' in built["README.md"]
