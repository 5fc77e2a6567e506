"""Submissions as files: one ``.py`` file each, in any folder tree.

A submission's task is told by ``--task``, by its header (``# kcbench: task=level1/softmax``) or by its place
(``<level>/<task>/<file>.py``), in this order. Files are parsed, never imported.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kcbench.domain.submission import Submission
from kcbench.errors import KcbenchError
from kcbench.suites.source import Parsed, parse
from kcbench.tasks import list_tasks

LARGEST = 1 << 20
"""Largest file that is read, in bytes."""

_LEVEL = re.compile(r"level\d+/")
_SUBMISSION = re.compile(r"^\s*(?:class Model|# kcbench:)", re.MULTILINE)


def discover(
    paths: Sequence[Path], *, task: str | None = None, known: Collection[str] | None = None, published: bool = False
) -> list[Submission]:
    """Find submissions.

    What cannot be scored is among them, with its ``problem`` set.

    Args:
        paths: Files and folders. Folders are searched for ``.py`` files; what starts with a dot or two underscores is skipped,
            and so are modules of a Python package that neither define a class to score nor have a header or a task by place.
        task: Task of all submissions, whatever they say themselves.
        known: Ids of the tasks that there are; by default those that came with kcbench.
        published: Read the files as the harnesses of published collections do; see :func:`kcbench.suites.source.parse`.

    Returns:
        Submissions in the order of the paths, those of a folder sorted by path; none twice.

    Raises:
        KcbenchError: A path does not exist or is no Python file, a folder holds no submission, or ``task`` is unknown.
    """
    known = list_tasks() if known is None else known
    if task is not None and task not in known:
        raise KcbenchError(unknown_task(task, known), where="--task", fix="kcbench tasks list shows them")
    found: dict[Path, tuple[Path, str]] = {}
    for path in paths:
        for file, name in _files(path):
            # A sample without a class is a submission that fails, and must not vanish from what is counted.
            if path.is_file() or task is not None or _task_of_place(file, known) in known or not _is_module(file):
                found.setdefault(file.resolve(), (file, name))
    if not found and paths:
        raise KcbenchError("no submission in this folder", where=", ".join(map(str, paths)), fix="a submission defines ModelNew")
    return [
        read(file, identifier=name, known=known, task=task, published=published) for file, name in _distinct(list(found.values()))
    ]


def read(path: Path, *, identifier: str, known: Collection[str], task: str | None = None, published: bool = False) -> Submission:
    """Read one submission; whatever is wrong with it becomes its ``problem``.

    Args:
        path: The file.
        identifier: Its id within the run.
        known: Ids of the tasks that there are.
        task: Its task, whatever it says itself.
        published: Read it as the harnesses of published collections do; see :func:`kcbench.suites.source.parse`.
    """
    source, problem = source_text(path)
    parsed = Parsed(problem=problem) if problem else parse(source, published=published)
    wanted = task or parsed.header.get("task") or _task_of_place(path, known)
    problem = parsed.problem or ("" if wanted in known else unknown_task(wanted, known))
    return _submission(
        source, parsed, path=str(path), identifier=identifier, task=wanted if wanted in known else "", problem=problem
    )


def parse_submission(source: str, *, path: str, id: str, task: str, published: bool = False) -> Submission:
    """A submission from source text that is in memory already; whatever is wrong with the text becomes its ``problem``.

    Args:
        source: The source text.
        path: Where it came from, for messages.
        id: Its id within the run.
        task: Its task, which exists.
        published: Read it as the harnesses of published collections do; see :func:`kcbench.suites.source.parse`.
    """
    parsed = parse(source, published=published)
    return _submission(source, parsed, path=path, identifier=id, task=task, problem=parsed.problem)


def _submission(source: str, parsed: Parsed, *, path: str, identifier: str, task: str, problem: str) -> Submission:
    return Submission(
        id=identifier,
        task=task,
        source=source,
        path=path,
        entry=parsed.entry,
        author=parsed.header.get("author", ""),
        language=parsed.language,
        packs_weights=parsed.header.get("packs-weights", "").lower() == "true",
        problem=problem,
        header=parsed.header,
    )


def unknown_task(task: str, known: Collection[str]) -> str:
    """One line about a task that does not exist, with the nearest one that does."""
    if not task:
        return "its task is not known: name it with --task, a line '# kcbench: task=ID' at its top, or folders <level>/<task>/"
    close = difflib.get_close_matches(task, known, n=1) or [name for name in known if name.partition("/")[2] == task]
    return f"unknown task {task!r}" + (f" (did you mean {close[0]!r}?)" if close else "")


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Candidate files with their ids: the path below the folder given, without ``.py``."""
    if path.is_dir():
        found = (file for file in walk(path) if file.suffix == ".py")
        files = sorted(found, key=lambda file: file.relative_to(path).as_posix())
        if not files:
            raise KcbenchError("no .py file in this folder", where=str(path))
        yield from ((file, file.relative_to(path).with_suffix("").as_posix()) for file in files)
    elif not path.exists():
        raise KcbenchError("no such file or folder", where=str(path))
    elif not path.is_file():
        raise KcbenchError("expected a file or a folder, found something else", where=str(path))
    elif path.suffix != ".py":
        raise KcbenchError("expected a Python file (.py)", where=str(path))
    else:
        yield path, path.stem


def _is_module(file: Path) -> bool:
    """Whether a file belongs to a package that submissions import, and is none itself."""
    if not (file.parent / "__init__.py").is_file():
        return False
    source, problem = source_text(file)
    return not problem and _SUBMISSION.search(source) is None


def walk(folder: Path) -> Iterator[Path]:
    """All files below a folder, but for what starts with a dot or two underscores, and what kcbench itself left there.

    Raises:
        KcbenchError: A folder cannot be read.
    """

    def fail(error: OSError) -> None:
        raise KcbenchError(f"cannot be read: {error.strerror}", where=str(error.filename)) from error

    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith((".", "__")) and not _is_run(Path(place, name))]
        for name in files:
            file = Path(place, name)
            if not name.startswith((".", "__")) and file.is_file():
                yield file


def _is_run(folder: Path) -> bool:
    """Whether a folder is one that a run wrote: the scripts in it are no submissions."""
    return (folder / "run.json").is_file() and (folder / "verdicts.jsonl").is_file()


def _distinct(found: list[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Make ids differ: where two folders hold files of the same name, by the whole path, and at last by a number."""
    times = Counter(name for _, name in found)
    taken: set[str] = set()
    for file, name in found:
        if times[name] > 1:
            name = "/".join(part for part in file.with_suffix("").parts if part not in ("..", os.sep))
        base, number = name, 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name)
        yield file, name


def source_text(path: Path) -> tuple[str, str]:
    """A file's source text, or why there is none."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        return "", f"cannot be read: {error.strerror or error}"
    if len(data) > LARGEST:
        return "", f"the file is larger than {LARGEST >> 20} MiB"
    if b"\0" in data:
        return "", "not Python source: the file is binary"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        return "", f"not UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start}"


def _task_of_place(path: Path, known: Collection[str]) -> str:
    """The task that two folders of the path name, the nearest first; else a misspelt one, so that the message can name it."""
    folders = path.absolute().parent.parts[1:]
    pairs = [f"{level}/{name}" for level, name in itertools.pairwise(folders)][::-1]
    return next((pair for pair in pairs if pair in known), next((pair for pair in pairs if _LEVEL.match(pair)), ""))
