"""``kcbench contract validate``: is a contract file right?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from kcbench.cli.exits import BAD_INPUT
from kcbench.errors import KcbenchError


def validate(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A contract.json, or a folder that is searched for them.", show_default=False)
    ],
) -> None:
    """Check contract files: their form, and whether they make sense.

    Each fault is one line on stderr: file, JSON path, what was expected and what was found. Exits with 2 if there is one.
    """
    if not path.exists():
        raise KcbenchError("no such file or folder", where=str(path))
    files = sorted(path.rglob("contract.json")) if path.is_dir() else [path]
    if not files:
        raise KcbenchError("no contract.json in this folder", where=str(path))
    faults = [line for file in files for line in _faults(file)]
    for line in faults:
        print(line, file=sys.stderr)
    if faults:
        raise typer.Exit(BAD_INPUT)
    print(f"{len(files)} {'contract is' if len(files) == 1 else 'contracts are'} valid")


def _faults(file: Path) -> Iterator[str]:
    from kcbench.domain.schema import problems, read_json

    try:
        data = read_json(file)
    except KcbenchError as error:
        yield str(error)
        return
    found = problems(data, "contract")
    yield from (f"{file}: {problem}" for problem in found)
    if not found:
        yield from (f"{file}: {line}" for line in _place_faults(file, data))


def _place_faults(file: Path, data: Mapping[str, Any]) -> Iterator[str]:
    """What does not fit the folder in which the contract lies."""
    place = "/".join(file.absolute().parts[-3:-1])
    if data["task"] != place:
        yield f'$.task: expected "{place}", the folder\'s name, found "{data["task"]}"'
    code = file.with_name("task.py")
    if not code.is_file():
        return
    constants = _constants(code)
    for name in data["axes"]:
        if name not in constants:
            yield f"$.axes.{name}: expected a module constant of task.py on a line of its own, found none of that name"


def _constants(code: Path) -> set[str]:
    from kcbench.domain.task import settable_constants

    try:
        return settable_constants(code.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise KcbenchError(f"cannot be parsed: {error}", where=str(code)) from error
