"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kcbench.cores import usable_cores
from kcbench.errors import KcbenchError, MissingExtraError


class Device(StrEnum):
    """Where submissions run."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class Language(StrEnum):
    """What a kernel is written in."""

    torch = "torch"
    triton = "triton"


class Bounds(StrEnum):
    """Error model of the value gates."""

    stochastic = "stochastic"
    classic = "classic"


DeviceOption = Annotated[Device, typer.Option(help="Where kernels run; on the CPU, Triton kernels run on its interpreter.")]
BoundsOption = Annotated[Bounds, typer.Option(help="Error model of the value gates; classic is the published 4*eps*sqrt(N).")]
JobsOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Submissions scored at the same time; by default the cores, at most 4.")
]
SeedOption = Annotated[
    str | None, typer.Option(metavar="N", help="Secret of the run: same seed, same verdicts. Drawn if not given.")
]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON, too; - for stdout.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no tables.")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]


def require_torch() -> None:
    """Raise MissingExtraError where kernels cannot be run."""
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("torch", "eval")


def require_triton() -> None:
    """Raise MissingExtraError where Triton kernels cannot be run."""
    if importlib.util.find_spec("triton") is None:
        raise MissingExtraError("triton", "triton")


def count_jobs(wanted: int | None) -> int:
    """How much to do at the same time: as was said, or as there are cores, at most four."""
    return wanted or min(usable_cores(), 4)


def split_names(text: str, known: Sequence[str], option: str) -> tuple[str, ...]:
    """Names from a comma-separated list, in the order of ``known``; case does not matter.

    Raises:
        KcbenchError: A name is not known.
    """
    by_fold = {name.casefold(): name for name in known}
    wanted = set()
    for part in filter(None, (item.strip() for item in text.split(","))):
        name = by_fold.get(part.casefold())
        if name is None:
            close = difflib.get_close_matches(part.casefold(), by_fold, n=1)
            fix = f"did you mean {by_fold[close[0]]}?" if close else f"known: {', '.join(known)}"
            raise KcbenchError(f"unknown name {part!r}", where=option, fix=fix)
        wanted.add(name)
    return tuple(name for name in known if name in wanted)


def draw_seed() -> str:
    """A fresh seed that nobody can foresee."""
    import secrets

    return str(secrets.randbelow(1 << 53))
