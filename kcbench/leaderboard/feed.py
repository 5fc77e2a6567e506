"""Feed: where results come from, and what lies there now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kcbench.errors import KcbenchError
from kcbench.hub.address import SCHEME, Address
from kcbench.leaderboard.figures import SAMPLE_NAME
from kcbench.leaderboard.files import ResultsFile, find_files

SAMPLE = Path(__file__).parent / "sample"
"""Results of a real run of the demo submissions."""


@dataclass(frozen=True)
class Found:
    """What lies there.

    Attributes:
        files: The results files.
        revision: The commit of a dataset; empty otherwise.
        faults: What was left alone, or why this is not the newest state; one line each.
    """

    files: tuple[ResultsFile, ...]
    revision: str
    faults: tuple[str, ...]


class Feed(Protocol):
    """A place that results come from."""

    name: str
    """What to call it."""

    def look(self) -> Found:
        """What lies there now.

        Raises:
            KcbenchError: There is no such place.
        """


class FolderFeed:
    """A folder of results files and run folders, or one run folder."""

    def __init__(self, folder: Path, name: str = "") -> None:
        self.folder = folder
        # A folder that is called as the sample is must not pass for it.
        self.name = name or (f"./{folder}" if str(folder) == SAMPLE_NAME else str(folder))

    def look(self) -> Found:
        if not self.folder.is_dir():
            fix = f"name a folder, or {SCHEME}ORG/NAME for a dataset on the Hub"
            raise KcbenchError("there is no such folder", where=f"--results {self.folder}", fix=fix)
        files, faults = find_files(self.folder)
        return Found(tuple(files), "", tuple(faults))


class HubFeed:
    """A results dataset on the Hub, fetched into the cache of ``huggingface_hub``.

    Args:
        address: The dataset. Without a revision its newest state is followed.
        memory: File that remembers the commit, for when the Hub cannot be reached.
    """

    def __init__(self, address: Address, memory: Path) -> None:
        self.address = address
        self.name = f"{SCHEME}{address}"
        self._memory = memory
        self._commit = ""

    def look(self) -> Found:
        """What the dataset holds; what it held last, with a fault, where the Hub cannot be asked."""
        from kcbench.hub.pull import fetch, resolve
        from kcbench.hub.remote import connect

        api = connect()
        try:
            commit = resolve(api, self.address)
            folder = self._folder(commit) if commit == self._commit else None
            # Every file is compared with its checksum once for each commit.
            folder = folder or fetch(api, self.address, commit)
        except KcbenchError as error:
            commit = self._commit or self._remembered()
            folder = self._folder(commit)
            if folder is None:
                raise
            files, faults = find_files(folder, within=folder.parents[1])
            return Found(tuple(files), commit, (f"not the newest state: {error}", *faults))
        self._commit = commit
        self._remember(commit)
        # The cache keeps contents apart and links to them, inside the folder of the repository.
        files, faults = find_files(folder, within=folder.parents[1])
        return Found(tuple(files), commit, tuple(faults))

    def _folder(self, commit: str) -> Path | None:
        """Where a commit that was fetched before lies."""
        from huggingface_hub import snapshot_download

        from kcbench.hub.remote import KEPT, KIND

        if not commit:
            return None
        asked: dict[str, Any] = {"repo_type": KIND, "revision": commit, "ignore_patterns": list(KEPT), "local_files_only": True}
        try:
            return Path(snapshot_download(self.address.repo, **asked))
        except (OSError, ValueError):
            return None

    def _remembered(self) -> str:
        try:
            return self._memory.read_text("ascii").strip()[:40]
        except (OSError, UnicodeDecodeError):
            return ""

    def _remember(self, commit: str) -> None:
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            self._memory.write_text(commit, "ascii")
        except OSError:  # Only a start without the Hub needs it.
            return


def open_feed(source: str | Path | None, cache: Path) -> Feed:
    """The feed that ``--results`` names; the sample for None.

    Raises:
        KcbenchError: It is not the name of a dataset.
    """
    if source is None:
        return FolderFeed(SAMPLE, SAMPLE_NAME)
    if isinstance(source, str) and source.startswith(SCHEME):
        address = Address.parse(source)
        return HubFeed(address, cache / "commits" / str(address).replace("/", "--"))
    return FolderFeed(Path(source))
