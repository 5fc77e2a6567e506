"""Fetching a dataset from the Hub: every file compared with what the Hub says of it, all of them or none."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kcbench.errors import KcbenchError
from kcbench.hub.address import Address
from kcbench.hub.build import new_folder
from kcbench.hub.remote import KEPT, KIND, changed_files, connect, explained, listing, local_files
from kcbench.hub.verify import verify_download

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class Pulled:
    """Where a revision lies now.

    Attributes:
        folder: The folder.
        commit: The commit that the address named.
        fresh: False where the same files lay there already.
    """

    folder: Path
    commit: str
    fresh: bool


def pull(address: Address, out: Path, *, bars: bool = False) -> Pulled:
    """Download a dataset into a folder of its own.

    The files come through the cache of ``huggingface_hub``, so that an interrupted download goes on when it is made
    again.

    Args:
        address: The repository and the revision.
        out: The folder; it must not exist, be empty, or hold these very files.
        bars: Show progress.

    Raises:
        KcbenchError: There is no such thing on the Hub, a file is damaged or no part of a dataset of kcbench, or the folder holds
            something else.
    """
    if out.exists() and not out.is_dir():
        raise KcbenchError("is there already, and is no folder", where=str(out), fix="choose another folder")
    api = connect(bars=bars)
    commit = resolve(api, address)
    known = listing(api, Address(address.repo, commit))
    there = local_files(out) if out.exists() else {}
    if there:
        if there.keys() == known.keys() and not changed_files(there, known):
            return Pulled(out, commit, False)
        raise KcbenchError("holds something else already", where=str(out), fix="choose another folder, or remove it")
    fetched = fetch(api, address, commit)
    with new_folder(out) as made:
        for name in known:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fetched / name, made / name)
        verify_download(made)
    return Pulled(out, commit, True)


def resolve(api: HfApi, address: Address) -> str:
    """The commit that an address names.

    Raises:
        KcbenchError: There is no such repository or revision, or the Hub cannot be asked.
    """
    with explained(address):
        return str(api.dataset_info(address.repo, revision=address.revision or None).sha)


def fetch(api: HfApi, address: Address, commit: str) -> Path:
    """The files of a commit, in the cache of ``huggingface_hub``, each compared with its checksum.

    Args:
        api: The client.
        address: The repository.
        commit: The commit.

    Raises:
        KcbenchError: The Hub cannot be asked, or sends something else than it says.
    """
    known = listing(api, Address(address.repo, commit))
    for again in (False, True):  # A file that was damaged in the cache is fetched once more.
        with explained(address):
            folder = Path(
                api.snapshot_download(
                    address.repo, repo_type=KIND, revision=commit, ignore_patterns=list(KEPT), force_download=again, max_workers=4
                )
            )
        wrong = [name for name, checksum in known.items() if not checksum.matches(folder / name)]
        if not wrong:
            return folder
    raise KcbenchError(f"the Hub sends another {wrong[0]} than it says", where=str(address), fix="try again later")
