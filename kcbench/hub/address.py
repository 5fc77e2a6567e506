"""Address: a dataset repository on the Hub, and perhaps one of its revisions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kcbench.errors import KcbenchError

SCHEME = "hf://"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}", re.ASCII)
_FORM = "write ORG/NAME, or ORG/NAME@TAG for one version"


@dataclass(frozen=True)
class Address:
    """``ORG/NAME`` or ``ORG/NAME@REVISION``."""

    repo: str
    """``ORG/NAME``."""
    revision: str = ""
    """A tag, a branch or a commit; empty for the newest state."""

    def __str__(self) -> str:
        return f"{self.repo}@{self.revision}" if self.revision else self.repo

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address.

        Args:
            text: ``ORG/NAME[@REVISION]``, also behind ``hf://`` and ``hf://datasets/``.

        Raises:
            KcbenchError: The Hub could have no such repository or revision.
        """
        repo, at, revision = text.removeprefix(SCHEME).removeprefix("datasets/").partition("@")
        parts = repo.split("/")
        if len(parts) != 2 or not all(_NAME.fullmatch(part) and "--" not in part and ".." not in part for part in parts):
            raise KcbenchError("is not the name of a dataset on the Hub", where=repr(text), fix=_FORM)
        if at and (not _REVISION.fullmatch(revision) or ".." in revision):
            raise KcbenchError("is not the name of a revision", where=repr(text), fix=_FORM)
        return cls(repo, revision)


def check_tag(name: str) -> None:
    """Refuse what git or the Hub would not take as a tag, or would take for something else.

    Raises:
        KcbenchError: It is no name for a tag.
    """
    like_commit = re.fullmatch(r"[0-9a-f]{7,40}", name) is not None
    if (
        not _REVISION.fullmatch(name)
        or "/" in name
        or ".." in name
        or name.endswith((".", ".lock"))
        or name == "main"
        or like_commit
    ):
        raise KcbenchError("is not the name of a version", where=f"--tag {name!r}", fix="a tag is a word such as v1.0")
