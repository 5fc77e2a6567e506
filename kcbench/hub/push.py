"""Publishing on the Hub: a dataset as one commit and one tag, results as one file of each table for each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcbench.errors import KcbenchError
from kcbench.hub.address import Address, check_tag
from kcbench.hub.manifest import Manifest
from kcbench.hub.remote import KIND, changed_files, connect, explained, listing, local_files, require_login
from kcbench.hub.verify import verify_dataset

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo, CommitOperationAdd, CommitOperationDelete, HfApi

TEMPLATES = Path(__file__).parent / "templates"
CARD = "README.md"
"""What describes a dataset on the Hub."""
Progress = Callable[[str, int, int], None]
"""Called with a file that is on the Hub now, how many are, and how many there will be."""


def _silent(_name: str, _done: int, _total: int) -> None:
    return


@dataclass(frozen=True)
class Published:
    """What a push left on the Hub.

    Attributes:
        address: The repository, with the tag if there is one.
        url: Where a person finds it.
        changed: Files that were added, replaced or removed; empty where everything was there already.
    """

    address: Address
    url: str
    changed: tuple[str, ...]


def push_dataset(
    folder: Path, repo: str, *, tag: str = "", private: bool = False, progress: Progress = _silent, bars: bool = False
) -> Published:
    """Publish a built dataset: every file in one commit, so that no reader ever sees half of it, and then its tag.

    Files are uploaded before the commit, and what the Hub holds already is not sent: an interrupted push
    goes on when it is made again.

    Args:
        folder: What ``kcbench hub build`` wrote.
        repo: ``ORG/NAME``; the repository is made where there is none.
        tag: Name of the version; empty for none.
        private: Whether a repository that is made is private.
        progress: Told of each file.
        bars: Show the progress of each.

    Raises:
        KcbenchError: The folder is no dataset or damaged, the tag names another content already, or the Hub refuses.
    """
    address = _named(repo)
    manifest = verify_dataset(folder)
    _check_version(manifest, tag)
    api = connect(bars=bars)
    require_login(api)
    files = local_files(folder)
    with explained(address):
        url = str(api.create_repo(address.repo, repo_type=KIND, private=private or None, exist_ok=True))
        found = api.dataset_info(address.repo)
    if private and not found.private:
        fix = "make it private on the Hub first, or leave --private away"
        raise KcbenchError("is there already, and public", where=address.repo, fix=fix)
    if tag and _is_published(api, address, tag, files):
        return Published(Address(address.repo, tag), url, ())
    head = listing(api, address)
    changed = changed_files(files, head)
    gone = sorted(head.keys() - files.keys())
    commit = str(found.sha)
    if changed or gone:
        message = f"{tag or manifest.version}: {len(files)} files, built with kcbench {manifest.kcbench_version}"
        # The parent is named so that two pushes at a time do not mix: the second is refused, and made again.
        commit = str(_Commit(api, address, message, parent=commit).send(changed, gone, progress=progress).oid)
    if tag:
        with explained(address):
            api.create_tag(address.repo, tag=tag, revision=commit, repo_type=KIND)
    return Published(Address(address.repo, tag), url, (*changed, *gone))


def push_results(
    run: Path,
    repo: str,
    *,
    pull_request: bool = False,
    progress: Progress = _silent,
    bars: bool = False,
    token: str = "",
    sources: Mapping[str, str] | None = None,
) -> Published:
    """Publish the rows of a run as two Parquet files that are named by the run and by its rows: a second push adds nothing.

    Files that were published when the run had other results are replaced, so that no row is met twice.

    Args:
        run: A run folder.
        repo: ``ORG/NAME`` of a results dataset. Without ``pull_request`` it is made where there is none.
        pull_request: Propose the files instead of adding them; this needs no right to write there.
        progress: Told of each file.
        bars: Show the progress of each.
        token: Access token; the one of this machine's user if not given.
        sources: Of a run that somebody else sent, see :func:`kcbench.hub.results.write_run`.

    Raises:
        KcbenchError: It is no run folder, or has nothing to publish, or the Hub refuses.
    """
    import tempfile

    from kcbench.hub.results import FOLDERS, write_run

    address = _named(repo)
    with tempfile.TemporaryDirectory() as folder:
        made = write_run(run, Path(folder), sources=sources)
        title = f"Results {made.digest} of run {made.run}"
        api = connect(bars=bars, token=token)
        require_login(api)
        url = _results_repo(api, address, make=not pull_request)
        there = listing(api, address)
        if made.files.keys() <= there.keys():
            return Published(address, url, ())
        if pull_request and (known := _proposed(api, address, title)) is not None:
            return known
        # Its YAML keeps the two tables apart for whoever loads the dataset.
        files = made.files if CARD in there else {**made.files, CARD: TEMPLATES / "results.md"}
        former = tuple(f"{place}/{made.prefix}" for place in FOLDERS.values())
        gone = [other for other in there if other.startswith(former) and other not in made.files]
        commit = _Commit(api, address, title, pull_request=pull_request)
        sent = commit.send(files, gone, progress=progress)
    if pull_request:
        return Published(Address(address.repo, str(sent.pr_revision)), str(sent.pr_url), (*files, *gone))
    return Published(address, url, (*files, *gone))


def _named(repo: str) -> Address:
    address = Address.parse(repo)
    if address.revision:
        raise KcbenchError("names a version", where=f"--repo {repo}", fix="write ORG/NAME, and the version with --tag")
    return address


def _check_version(manifest: Manifest, tag: str) -> None:
    if not tag:
        return
    check_tag(tag)
    if tag != manifest.version:
        fix = f"push it with --tag {manifest.version}, or build it with --version {tag}"
        raise KcbenchError(f"the dataset says that it is version {manifest.version}", where=f"--tag {tag}", fix=fix)


def _is_published(api: HfApi, address: Address, tag: str, files: Mapping[str, Path]) -> bool:
    """Whether a tag is there and names just these files."""
    with explained(address):
        tags = {item.name for item in api.list_repo_refs(address.repo, repo_type=KIND).tags}
    if tag not in tags:
        return False
    there = listing(api, Address(address.repo, tag))
    if there.keys() == files.keys() and not changed_files(files, there):
        return True
    fix = "a version does not change once it is published: build the dataset with a new --version"
    raise KcbenchError("is published already, with another content", where=f"{address.repo}@{tag}", fix=fix)


def _results_repo(api: HfApi, address: Address, *, make: bool) -> str:
    with explained(address):
        if make:
            return str(api.create_repo(address.repo, repo_type=KIND, exist_ok=True))
        api.dataset_info(address.repo)
        return f"{api.endpoint}/datasets/{address.repo}"


def _proposed(api: HfApi, address: Address, title: str) -> Published | None:
    """The open pull request of a title."""
    with explained(address):
        kinds: dict[str, Any] = {"discussion_type": "pull_request", "discussion_status": "open"}
        for item in api.get_repo_discussions(address.repo, repo_type=KIND, **kinds):
            if item.title == title:
                return Published(Address(address.repo, f"refs/pr/{item.num}"), str(item.url), ())
    return None


@dataclass(frozen=True)
class _Commit:
    """A commit to be made, of files and of what goes, or a pull request with one."""

    api: HfApi
    address: Address
    message: str
    parent: str | None = None
    """The state that it changes; refused where there is a newer one."""
    pull_request: bool = False

    def send(self, files: Mapping[str, Path], gone: Sequence[str], *, progress: Progress) -> CommitInfo:
        """Upload the files, and commit."""
        from huggingface_hub import CommitOperationDelete

        with explained(self.address):
            operations: list[CommitOperationAdd | CommitOperationDelete] = [*self._upload(files, progress)]
            operations += [CommitOperationDelete(name, is_folder=False) for name in gone]
            return self.api.create_commit(
                self.address.repo,
                operations,
                commit_message=self.message,
                repo_type=KIND,
                parent_commit=self.parent,
                create_pr=self.pull_request,
            )

    def _upload(self, files: Mapping[str, Path], progress: Progress) -> list[CommitOperationAdd]:
        """Send large files ahead of the commit.

        One by one, in this thread, so that Ctrl-C acts at once: the client's own pool would first send all that is queued. Its
        ``upload_folder`` is of no use here, since it may make several commits of one folder.
        """
        from huggingface_hub import CommitOperationAdd

        operations = []
        for number, (name, path) in enumerate(files.items(), 1):
            operation = CommitOperationAdd(name, str(path))
            self.api.preupload_lfs_files(
                self.address.repo, [operation], repo_type=KIND, free_memory=False, create_pr=self.pull_request
            )
            operations.append(operation)
            progress(name, number, len(files))
        return operations
