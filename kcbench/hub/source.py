"""Where ``--tasks`` points: a dataset on the Hub, a built or pulled one, or a folder with ``tasks/`` and ``references/``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from kcbench import __version__
from kcbench.errors import KcbenchError
from kcbench.hub import manifest
from kcbench.hub.address import SCHEME, Address
from kcbench.paths import default_cache


@dataclass(frozen=True)
class Source:
    """Tasks that did not come with kcbench.

    Attributes:
        root: Folder for :func:`kcbench.tasks.load_task` and :func:`kcbench.tasks.list_tasks`.
        name: What was asked for, with the commit in place of a tag: what finds the same tasks again.
    """

    root: Path
    name: str


def open_tasks(spec: str, *, bars: bool = False) -> Source:
    """Find tasks.

    A dataset is unpacked once for each revision, into ``datasets`` below :func:`kcbench.paths.default_cache`. While the Hub
    cannot be reached, a revision that was fetched before is still found by its commit.

    Args:
        spec: ``hf://ORG/NAME[@TAG]``, or a folder.
        bars: Show the progress of a download.

    Raises:
        KcbenchError: There is no such dataset or folder, it is damaged, or its format is newer than this kcbench knows.
    """
    return _from_hub(Address.parse(spec), bars=bars) if spec.startswith(SCHEME) else _from_folder(Path(spec))


def _from_hub(address: Address, *, bars: bool) -> Source:
    from kcbench.hub.pull import fetch, resolve
    from kcbench.hub.reader import materialise
    from kcbench.hub.remote import connect

    is_commit = len(address.revision) == 40 and set(address.revision) <= set("0123456789abcdef")
    place = default_cache() / "datasets" / address.repo.replace("/", "--")
    if is_commit and (root := _kept(place / address.revision)) is not None:
        return Source(root, f"{SCHEME}{address}")
    api = connect(bars=bars)
    commit = resolve(api, address)
    root = _kept(place / commit) or materialise(fetch(api, address, commit), place / commit / __version__)
    return Source(root, f"{SCHEME}{Address(address.repo, commit)}")


def _from_folder(folder: Path) -> Source:
    from kcbench.hub.reader import materialise
    from kcbench.hub.verify import verify_dataset

    if (folder / "tasks").is_dir():
        return Source(folder, str(folder.resolve()))
    if not folder.is_dir():
        fix = f"name a folder, or {SCHEME}ORG/NAME@TAG for a dataset on the Hub"
        raise KcbenchError("there is no such folder", where=f"--tasks {folder}", fix=fix)
    if not (folder / manifest.NAME).exists():
        what = f"holds no tasks: it has neither tasks/ nor {manifest.NAME}"
        raise KcbenchError(what, where=f"--tasks {folder}", fix="name what 'kcbench hub build' or 'kcbench hub pull' wrote")
    digests = sorted(verify_dataset(folder).files.items())
    place = default_cache() / "datasets" / "local" / hashlib.sha256(repr(digests).encode()).hexdigest()[:32]
    return Source(_kept(place) or materialise(folder, place / __version__), str(folder.resolve()))


def _kept(place: Path) -> Path | None:
    """What this version of kcbench unpacked before."""
    root = place / __version__
    return root if root.is_dir() else None
