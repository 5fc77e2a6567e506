"""The Hub as kcbench sees it: connecting to it, what a repository holds, and what its errors mean to a user."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kcbench.errors import KcbenchError, MissingExtraError
from kcbench.hub.address import Address

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.hf_api import RepoFile

KIND = "dataset"
"""All repositories of kcbench are datasets."""
KEPT = (".gitattributes",)
"""Files that the Hub puts into a repository itself."""


@dataclass(frozen=True)
class Checksum:
    """What identifies the content of a file: the Hub keeps SHA-256 for large files and git's blob id for the others."""

    algorithm: str
    digest: str

    def matches(self, path: Path) -> bool:
        """Whether a file has this content."""
        return path.is_file() and _digest(path, self.algorithm) == self.digest


def connect(*, bars: bool = False, token: str = "") -> HfApi:
    """The client of the Hub that ``HF_ENDPOINT`` names, huggingface.co by default.

    Args:
        bars: Let it draw progress bars of its own.
        token: Access token; the one of this machine's user if not given.

    Raises:
        MissingExtraError: ``huggingface_hub`` is not installed.
    """
    try:
        import huggingface_hub
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]
    except ModuleNotFoundError as error:
        raise MissingExtraError("huggingface_hub", "hub") from error
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # Whatever stops a command is said in its own line.
    if not bars:
        disable_progress_bars()
    return huggingface_hub.HfApi(library_name="kcbench", token=token or None)


def require_login(api: HfApi) -> str:
    """The user that the token belongs to.

    Raises:
        KcbenchError: There is no token, or the Hub does not take it.
    """
    from huggingface_hub import get_token

    if api.token is None and get_token() is None:
        raise KcbenchError("there is no access token for the Hub", fix="run 'hf auth login', or set HF_TOKEN")
    with explained(Address("")):
        return str(api.whoami()["name"])


def listing(api: HfApi, address: Address) -> dict[str, Checksum]:
    """The files of a revision, by path, without those that the Hub put there itself.

    Raises:
        KcbenchError: There is no such repository or revision, the Hub cannot be asked, or a path leads out of the folder.
    """
    from huggingface_hub.hf_api import RepoFile

    with explained(address):
        tree = api.list_repo_tree(address.repo, repo_type=KIND, revision=address.revision or None, recursive=True)
        files = {item.path: _checksum(item) for item in tree if isinstance(item, RepoFile) and item.path not in KEPT}
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise KcbenchError(f"has a file {name!r}, which leads out of any folder", where=str(address), fix="do not use it")
    return files


def local_files(folder: Path) -> dict[str, Path]:
    """The files below a folder, by path; what begins with a dot is left out.

    Raises:
        KcbenchError: The folder cannot be read.
    """
    if not folder.is_dir():
        raise KcbenchError("there is no such folder", where=str(folder))
    found = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): folder / path for path in found if not any(part.startswith(".") for part in path.parts)}


def changed_files(files: Mapping[str, Path], remote: Mapping[str, Checksum]) -> dict[str, Path]:
    """The local files that a revision does not hold, or holds with another content."""
    return {name: path for name, path in files.items() if name not in remote or not remote[name].matches(path)}


@contextmanager
def explained(address: Address) -> Iterator[None]:
    """Turn what the client raises into one line that says what to do.

    Args:
        address: What is being asked for.

    Raises:
        KcbenchError: The Hub refused, could not be reached, or has no such thing.
    """
    from huggingface_hub import errors

    # huggingface_hub 1 and 2 speak through different packages; each exports the root of that package's errors here.
    http_error: type[Exception] = errors.HTTPError  # type: ignore[attr-defined]
    try:
        yield
    except KcbenchError:
        raise
    except (http_error, OSError, ValueError) as error:
        raise _explain(error, address) from error
    except RuntimeError as error:  # Uploads run in threads, and wrap what stopped them.
        if not isinstance(error.__cause__, (http_error, OSError, ValueError)):
            raise
        raise _explain(error.__cause__, address) from error


def _explain(error: BaseException, address: Address) -> KcbenchError:
    from huggingface_hub import constants, errors

    where, hub = str(address), constants.ENDPOINT
    if isinstance(error, errors.GatedRepoError):
        return KcbenchError(
            "is gated, and your token has no access", where=where, fix=f"ask for it at {hub}/datasets/{address.repo}"
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        fix = "check the name; a private one needs a token that may read it: 'hf auth login', or HF_TOKEN"
        return KcbenchError("there is no such dataset on the Hub", where=where, fix=fix)
    if isinstance(error, errors.RevisionNotFoundError):
        return KcbenchError(f"has no revision {address.revision!r}", where=address.repo, fix="check the tag, or leave it away")
    if isinstance(error, errors.HfHubHTTPError):
        return _explain_status(error, where)
    if isinstance(error, errors.OfflineModeIsEnabled):
        return KcbenchError("the Hub may not be asked while HF_HUB_OFFLINE is set", where=where, fix="unset it")
    if isinstance(error, OSError) and error.filename is not None and not isinstance(error, errors.LocalEntryNotFoundError):
        return KcbenchError(f"cannot be read or written: {error.strerror}", where=os.fspath(error.filename))
    reason = next((line for line in str(error).splitlines() if line.strip()), "") or type(error).__name__
    if isinstance(error, ValueError):
        return KcbenchError(f"the Hub's client refuses: {reason}", where=where)
    return KcbenchError(f"{hub} cannot be reached: {reason}", where=where, fix="try again when the connection is back")


def _explain_status(error: HfHubHTTPError, where: str) -> KcbenchError:
    status = error.response.status_code
    said = error.response.headers.get("X-Error-Message") or error.server_message or ""
    if status == 401:
        return KcbenchError(
            "the Hub does not take your access token", where=where, fix="run 'hf auth login', or set another HF_TOKEN"
        )
    if status == 403:
        fix = "use a token with the right to write there, or another name"
        return KcbenchError(f"your access token does not permit it{f': {said}' if said else ''}", where=where, fix=fix)
    if status in (409, 412):
        return KcbenchError(
            f"somebody else changed it at the same time{f': {said}' if said else ''}", where=where, fix="try again"
        )
    if status == 429:
        return KcbenchError("the Hub asks for fewer requests", where=where, fix="wait some minutes, and try again")
    if status >= 500:
        fix = "try again later; what was uploaded is not sent again"
        return KcbenchError(f"the Hub failed with status {status}", where=where, fix=fix)
    return KcbenchError(f"the Hub refuses with status {status}{f': {said}' if said else ''}", where=where)


def _checksum(item: RepoFile) -> Checksum:
    return Checksum("sha256", item.lfs.sha256) if item.lfs is not None else Checksum("git", item.blob_id)


def _digest(path: Path, algorithm: str) -> str:
    digest = (
        hashlib.sha256() if algorithm == "sha256" else hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    )
    with path.open("rb") as stream:
        for chunk in iter(lambda: stream.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()
