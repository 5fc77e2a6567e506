"""KernelBench's problems: ``level<L>/<id>_<Name>.py`` in a checkout. They are parsed here, never run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kcbench.errors import KcbenchError
from kcbench.suites.folder import source_text
from kcbench.suites.source import missing_names

SUITE = "kernelbench"
NAMES = ("Model", "get_inputs", "get_init_inputs")
"""What a problem defines."""

_LEVEL = re.compile(r"level_?(\d+)")
_FILE = re.compile(r"(\d+)_.*\.py")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")

Problems = Mapping[tuple[int, int], "Problem"]
"""Problems by level and id."""


@dataclass(frozen=True)
class Problem:
    """One problem: what kernels are asked to compute."""

    level: int | None
    problem_id: int | None
    name: str
    """File name without ``.py``, for example ``36_RMSNorm_``."""
    path: str
    code: str
    defect: str = ""
    """Why no kernel can be scored on it; empty when kernels can."""

    @property
    def task_id(self) -> str:
        """Its id as a task, for example ``level1/36_RMSNorm_``."""
        folder = "problem" if self.level is None else f"level{self.level}"
        return f"{folder}/{_UNSAFE.sub('_', self.name) or 'unnamed'}"


def origin(level: int | None = None, problem_id: int | None = None, sample_id: int | None = None) -> dict[str, Any]:
    """The place of a submission in the suite, as :attr:`Submission.origin` has it."""
    return {"suite": SUITE, "level": level, "problem_id": problem_id, "sample_id": sample_id}


def load_problems(folder: Path) -> dict[tuple[int, int], Problem]:
    """Read all problems of a checkout.

    Args:
        folder: A checkout of KernelBench, its inner folder ``KernelBench``, or any folder with level folders.

    Returns:
        Problems by level and id. What is wrong with one is its ``defect``.

    Raises:
        KcbenchError: There is no such folder, or it holds no problem.
    """
    if not folder.is_dir():
        raise KcbenchError("no such folder", where=str(folder), fix="name a checkout of KernelBench")
    root = next((place for place in (folder / "KernelBench", folder) if any(_levels(place))), None)
    if root is None:
        inside = _LEVEL.fullmatch(folder.name) is not None
        fix = f"name the folder above it, {folder.absolute().parent}" if inside else "name a checkout of KernelBench"
        raise KcbenchError("holds no folder level1, level2, ...", where=str(folder), fix=fix)
    found: dict[tuple[int, int], Problem] = {}
    for level, place in _levels(root):
        for path in sorted(place.glob("*.py")):
            match = _FILE.fullmatch(path.name)
            if match is None:
                continue
            problem = read_problem(path, level=level, problem_id=int(match[1]))
            key = level, int(match[1])
            other = found.get(key)
            if other is not None:
                names = f"{Path(other.path).name} and {path.name}"
                problem = replace(other, defect=f"two files have the id {key[1]} in level {level}: {names}")
            found[key] = problem
    if not found:
        raise KcbenchError("holds no problem (<id>_<Name>.py) in its level folders", where=str(root))
    return dict(sorted(found.items()))


def read_problem(path: Path, *, level: int | None = None, problem_id: int | None = None) -> Problem:
    """Read one problem file; whatever is wrong with it becomes its ``defect``."""
    code, reason = source_text(path)
    return make_problem(code, level=level, problem_id=problem_id, name=path.stem, path=str(path), reason=reason)


def make_problem(code: str, *, level: int | None, problem_id: int | None, name: str, path: str, reason: str = "") -> Problem:
    """A problem from its source text.

    Args:
        code: The text.
        level: Its level, where it has one.
        problem_id: Its id within the level, where it has one.
        name: Its name within the level.
        path: Where it came from, for messages.
        reason: Why the text could not be read.
    """
    defect = reason or missing_names(code, NAMES)
    return Problem(level, problem_id, name, path, code, defect and f"the problem cannot be used: {defect}")


def lookup(problems: Problems, level: int, problem_id: int) -> Problem | str:
    """The problem with an id, or why there is none, in one line."""
    if (level, problem_id) in problems:
        return problems[level, problem_id]
    levels = sorted({known for known, _ in problems})
    if level not in levels:
        return f"the suite has no level {level} (it has {', '.join(map(str, levels))})"
    return f"level {level} of the suite has no problem {problem_id}"


def _levels(folder: Path) -> Iterator[tuple[int, Path]]:
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    for place in places:
        match = _LEVEL.fullmatch(place.name)
        if match and place.is_dir():
            yield int(match[1]), place
