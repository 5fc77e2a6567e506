"""How a study of ``kcbench redteam`` is to be made. Nothing heavy is imported: the command line starts with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kcbench.cli.options import Language


@dataclass(frozen=True)
class Asked:
    """How a study is to be made; the fields are the command's options."""

    seed: str | None
    device: str
    jobs: int
    task: str | None
    only: str
    language: Language | None
    checkers: bool
    json: Path | None
    resume: bool
    quiet: bool
