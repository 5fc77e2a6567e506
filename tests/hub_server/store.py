"""What the loopback Hub keeps: blobs by content in a folder, repositories in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


@dataclass(frozen=True)
class Entry:
    """A file of a commit."""

    blob: str
    """SHA-256 of its content."""
    size: int
    oid: str
    """The id that git gives it; that of its pointer for a large file."""
    large: bool


@dataclass(frozen=True)
class Commit:
    tree: Mapping[str, Entry]
    title: str
    parent: str = ""

    @property
    def oid(self) -> str:
        facts = [self.parent, self.title, sorted((path, entry.oid) for path, entry in self.tree.items())]
        return hashlib.sha1(json.dumps(facts).encode()).hexdigest()


@dataclass
class PullRequest:
    number: int
    title: str
    author: str
    status: str = "open"


@dataclass
class Repo:
    """A repository: commits, and what points to them."""

    name: str
    private: bool
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    """``main``, tags and ``refs/pr/<number>`` to commit ids."""
    pulls: list[PullRequest] = field(default_factory=list)

    @property
    def head(self) -> str:
        return self.refs["main"]

    @property
    def tags(self) -> dict[str, str]:
        return {name: oid for name, oid in self.refs.items() if name != "main" and not name.startswith("refs/")}

    def find(self, revision: str) -> str:
        """The commit that a revision names."""
        oid = self.refs.get(revision.removeprefix("refs/heads/").removeprefix("refs/tags/"), revision)
        if oid not in self.commits:
            raise RefusedError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return oid

    def split(self, rest: str) -> tuple[str, str]:
        """The commit and the path in ``<revision>/<path>``, where a revision such as refs/pr/1 has slashes itself."""
        parts = rest.split("/")
        length = 3 if parts[0] == "refs" else 1
        return self.find("/".join(parts[:length])), "/".join(parts[length:])

    def add(self, commit: Commit, ref: str) -> str:
        """Add a commit and let a ref point to it."""
        self.commits[commit.oid] = commit
        self.refs[ref] = commit.oid
        return commit.oid


class Store:
    """All repositories, and the blobs of their files.

    Args:
        folder: Where blobs are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repos: dict[str, Repo] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def create(self, name: str, *, private: bool) -> Repo:
        """A repository with the one file that the Hub puts into each."""
        repo = self.repos[name] = Repo(name, private)
        start = {".gitattributes": self.put(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n", large=False)}
        repo.add(Commit(start, "initial commit"), "main")
        return repo

    def repo(self, name: str) -> Repo:
        if name not in self.repos:
            raise RefusedError(404, "Repository not found", "RepoNotFound")
        return self.repos[name]

    def blob(self, sha256: str) -> Path:
        return self.folder / sha256

    def put(self, data: bytes, *, large: bool) -> Entry:
        """Keep content."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.blob(sha256).write_bytes(data)
        return self.entry(sha256, large=large)

    def entry(self, sha256: str, *, large: bool) -> Entry:
        """The entry of content that is kept."""
        path = self.blob(sha256)
        if not path.is_file():
            raise RefusedError(400, f"LFS object {sha256} was not uploaded")
        size = path.stat().st_size
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
        text = pointer if large else path.read_bytes()
        return Entry(sha256, size, hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest(), large)
