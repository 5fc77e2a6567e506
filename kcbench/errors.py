"""Errors that a user can act on.

Every error that reaches the command line is a :class:`KcbenchError`: one line that says what is wrong, where, and what to do.
The command line prints that line and exits with code 2; anything else is a bug in kcbench.
"""

from __future__ import annotations


class KcbenchError(Exception):
    """Bad input, a missing extra, or an unusable environment.

    Args:
        what: What is wrong, in one clause.
        where: The file, task or argument that it concerns.
        fix: What the user can do about it.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(str(self))

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head} ({self.fix})" if self.fix else head


class MissingExtraError(KcbenchError):
    """A feature needs a package that the installed set of extras does not bring."""

    def __init__(self, package: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{package} is not installed", fix=f"pip install 'kcbench[{extra}]'")
