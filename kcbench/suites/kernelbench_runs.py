"""KernelBench's run folders: kernels whose file names, or a mapping file, say which problem and sample they are.

``level_<L>_problem_<P>_sample_<S>_kernel.py`` is KernelBench's own name. Folders ``level_<L>`` with ``problem_<P>.py`` or
``task_<P>.py``, as some collections have them, are read too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kcbench.domain.submission import Submission
from kcbench.errors import KcbenchError
from kcbench.suites.folder import parse_submission, source_text, walk
from kcbench.suites.kernelbench import Problem, Problems, lookup, origin
from kcbench.suites.mapping import read_mapping
from kcbench.suites.samples import Place, Register
from kcbench.suites.source import ENTRY, MODEL, repeats

_NAME = re.compile(r"(?:.*/)?level_(\d+)_problem_(\d+)_sample_(\d+)_kernel(?:\.(?:py|cu|cpp|cc|hip))?")
_FOLDERS = re.compile(r"(?:.*/)?level_?(\d+)/(?:problem|task)_(\d+)(?:_sample_(\d+))?\.py")


def read_run(folder: Path, problems: Problems, *, mapping: Path | None = None) -> list[Submission]:
    """Read every kernel of a run folder. Nothing in it is run.

    What cannot be scored is among them, with its ``problem`` set. A kernel whose problem has a defect has none of its own.

    Args:
        folder: The run folder, searched at any depth.
        problems: The problems of the suite.
        mapping: A file that says which problem each kernel is for; see :mod:`kcbench.suites.mapping`.

    Returns:
        The kernels by level, problem and sample, each with its origin; those without a place last.

    Raises:
        KcbenchError: There is no such folder, it holds no kernel, or the mapping cannot be read.
    """
    if not folder.is_dir():
        what = "expected a folder of kernels" if folder.exists() else "no such folder"
        raise KcbenchError(what, where=str(folder))
    files = {path.relative_to(folder).as_posix(): path for path in walk(folder)}
    named = _named(mapping, files) if mapping is not None else {}
    places: dict[str, Place | None] = {name: _place(name) for name in files if _is_kernel(name, files)}
    places.update(named)
    if not places:
        fix = "their names are level_<L>_problem_<P>_sample_<S>_kernel.py, or a --mapping tells what they are"
        raise KcbenchError("holds no kernel", where=str(folder), fix=fix)
    register = Register()
    found = []
    for name in sorted(places, key=lambda name: _order(places[name], name)):
        item = _read(files.get(name), folder / name, name.removesuffix(".py"), places[name], problems)
        place = places[name]
        if place is None:
            found.append(replace(item, origin=origin(), problem=_placeless(bool(named))))
        elif not item.task:
            found.append(replace(item, origin=origin(place.level, place.problem_id)))
        else:
            found.append(register.enter(item, place))
    return found


def attach(source: str, problem: Problem, *, path: str, id: str) -> Submission:
    """A kernel for a problem, from source text; whatever is wrong with it becomes its ``problem``."""
    return refuse_copy(parse_submission(source, path=path, id=id, task=problem.task_id, published=True), problem)


def refuse_copy(item: Submission, problem: Problem) -> Submission:
    """The submission, with a ``problem`` where its class ``Model`` would be scored although it only repeats the problem."""
    if item.problem or item.entry != MODEL or "entry" in item.header or not repeats(item.source, problem.code):
        return item
    return replace(item, problem=f"no class {ENTRY}, and nothing but what the problem itself defines")


def _read(file: Path | None, path: Path, identifier: str, place: Place | None, problems: Problems) -> Submission:
    """A submission without its origin; it has no task where there is no such problem."""
    source, reason = source_text(file) if file is not None else ("", "the mapping names it, and there is no such file")
    if not reason and path.suffix != ".py":
        reason = "expected a Python file (.py)"
    problem = "" if place is None or place.level is None else lookup(problems, place.level, place.problem_id)
    if isinstance(problem, Problem):
        item = attach(source, problem, path=str(path), id=identifier)
    else:
        item = replace(parse_submission(source, path=str(path), id=identifier, task="", published=True), problem=problem)
    return replace(item, problem=reason or item.problem)


def _place(name: str) -> Place | None:
    match = _NAME.fullmatch(name) or _FOLDERS.fullmatch(name)
    return Place(int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def _placeless(mapped: bool) -> str:
    if mapped:
        return "the mapping does not name it, and its name does not say which problem it is for"
    return "its name does not say which problem it is for (level_<L>_problem_<P>_sample_<S>_kernel.py): name it in a --mapping"


def _named(mapping: Path, files: Mapping[str, Path]) -> dict[str, Place]:
    """Places by file, where the mapping may leave ``.py`` away."""
    found: dict[str, Place] = {}
    for name, place in read_mapping(mapping).items():
        file = name if name in files or f"{name}.py" not in files else f"{name}.py"
        if file in found:
            raise KcbenchError(f"names {file!r} twice", where=str(mapping))
        found[file] = place
    return found


def _is_kernel(name: str, files: Mapping[str, Path]) -> bool:
    """Whether a file is one to account for. Other sources that lie beside a Python file of the same name belong to it."""
    return name.endswith(".py") or (_NAME.fullmatch(name) is not None and f"{name.rpartition('.')[0] or name}.py" not in files)


def _order(place: Place | None, name: str) -> tuple[bool, int, int, int, str]:
    if place is None:
        return True, 0, 0, 0, name
    return False, place.level or 0, place.problem_id, place.sample_id or 0, name
