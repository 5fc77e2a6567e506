r"""The run folder: what a run leaves behind, and what the next one resumes from.

::

    run.json           what was run: versions, environment, seed, device, sandbox tier (schema ``run``); written once
    verdicts.jsonl     one result per line, appended and fsynced as each submission is finished
    results.parquet    the same as a table, see :mod:`kcbench.report.parquet`
    report.html        \  for people; made again at will
    report.md          /
    repro/<id>-<gate>.py
    problems/<task>.py the problems of the run where they are no tasks of kcbench
    eval_results.json, baseline_time_<name>.json, ...
                       where the submissions come from KernelBench, see :mod:`kcbench.report.eval_results`
    .lock              held (fcntl) while a run writes
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from kcbench.domain.result import Result
from kcbench.domain.schema import validate
from kcbench.errors import KcbenchError
from kcbench.report.journal import Journal, sync_folder
from kcbench.report.text import slug

FORMAT = 1
"""Version of the folder's layout and of ``run.json``."""
HEADER, JOURNAL, LOCK = "run.json", "verdicts.jsonl", ".lock"
SAME_RUN = ("kcbench_version", "seed", "device", "bounds")
"""Header fields that a resumed run must share: results that differ in them do not belong in one report."""

_held: set[tuple[int, int]] = set()
"""Device and inode of the locks of this process: POSIX record locks do not exclude their own process."""


class RunFolder:
    """A run folder, opened to read or to write. Use :meth:`create` or :meth:`open`, and close it (or use ``with``).

    Attributes:
        path: The folder.
        header: ``run.json``.
        torn: Bytes of a torn last journal line that were dropped; 0 as a rule. The submission that it was about runs again.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], journal: Journal, locked: contextlib.ExitStack | None) -> None:
        self.path = path
        self.header: Mapping[str, Any] = MappingProxyType(dict(header))
        self.torn = journal.torn
        self._journal = journal
        self._locked = locked

    @classmethod
    def create(cls, path: str | Path, header: Mapping[str, Any]) -> RunFolder:
        """Open a folder for writing: a new one, or the one of an interrupted run, which keeps the header that it has.

        Args:
            path: The folder; made with its parents when missing.
            header: ``run.json`` of this run; ``format`` is added.

        Raises:
            KcbenchError: Another run writes the folder; it holds another run (see :data:`SAME_RUN`), another format version or a
                damaged journal; it cannot be written.
        """
        folder = Path(path)
        wanted = {"format": FORMAT, **header}
        validate(wanted, "run", source=HEADER)
        with contextlib.ExitStack() as stack:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(_lock(folder))
                if (folder / HEADER).exists():
                    found = _read_header(folder)
                    _check_same_run(folder, found, wanted)
                elif (folder / JOURNAL).exists():
                    raise KcbenchError(f"has a {JOURNAL} and no {HEADER}", where=str(folder), fix="choose another folder")
                else:
                    found = wanted
                    _write(folder / HEADER, json.dumps(wanted, indent=2) + "\n")
            except OSError as error:
                fix = "choose a folder that can be written"
                raise KcbenchError(f"the run folder cannot be written: {error.strerror}", where=str(folder), fix=fix) from error
            journal = Journal(folder / JOURNAL, repair=True)
            stack.callback(journal.close)
            return cls(folder, found, journal, stack.pop_all())

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open a folder for reading, also while a run writes it.

        Raises:
            KcbenchError: It is no run folder, has another format version, or is damaged.
        """
        folder = Path(path)
        return cls(folder, _read_header(folder), Journal(folder / JOURNAL, repair=False), None)

    def completed_keys(self) -> frozenset[str]:
        """Keys of the results that need not be made again. Harness failures are not among them."""
        return self._journal.keys()

    def append(self, result: Result) -> None:
        """Add a result to the journal; it is on disk when this returns. A key that is complete already is ignored.

        Raises:
            KcbenchError: The folder was opened for reading, or cannot be written.
        """
        if self._locked is None:
            raise KcbenchError("the run folder is open for reading", where=str(self.path))
        self._journal.append(result)

    def results(self) -> tuple[Result, ...]:
        """One result per submission, sorted by id; the latest where a submission or its task changed between two runs."""
        latest = {result.id: result for result in self._journal.values()}
        return tuple(latest[identifier] for identifier in sorted(latest))

    def result(self, identifier: str) -> Result:
        """The result of one submission.

        Raises:
            KcbenchError: There is none.
        """
        results = {result.id: result for result in self.results()}
        if identifier in results:
            return results[identifier]
        near = [name for name in results if identifier in name][:3]
        fix = f"did you mean {' or '.join(near)}?" if near else "see 'kcbench report' for the ids of this run"
        raise KcbenchError(f"no submission {identifier!r} in this run", where=str(self.path), fix=fix)

    def write(self, name: str, text: str) -> Path:
        """Write a text file into the folder, as a whole or not at all.

        Args:
            name: Path below the folder, for example ``report.html``.
            text: The content; lone surrogates become question marks.

        Raises:
            KcbenchError: It cannot be written.
        """
        target = self.path / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, text)
        except OSError as error:
            raise KcbenchError(f"cannot be written: {error.strerror}", where=str(target)) from error
        return target

    def remove(self, name: str) -> None:
        """Remove a file that an earlier report wrote, if it is there.

        Raises:
            KcbenchError: It cannot be removed.
        """
        target = self.path / name
        try:
            target.unlink(missing_ok=True)
        except OSError as error:
            raise KcbenchError(f"cannot be removed: {error.strerror}", where=str(target)) from error

    def write_parquet(self) -> Path:
        """Write ``results.parquet``.

        Raises:
            KcbenchError: It cannot be written.
        """
        from kcbench.report.parquet import frame

        target = self.path / "results.parquet"
        table = frame(self.results(), self.header)
        part = target.with_name(f".{target.name}.part")
        try:
            table.write_parquet(part)
            os.replace(part, target)
        except OSError as error:
            raise KcbenchError(f"cannot be written: {error.strerror}", where=str(target)) from error
        return target

    def close(self) -> None:
        """Release the journal and the lock."""
        if self._locked is not None:
            self._locked.close()
            self._locked = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def repro_name(identifier: str, gate: str) -> str:
    """Path of a reproduction script below the run folder; ``/`` in an id becomes ``__``."""
    return f"repro/{slug(identifier.replace('/', '__'))}-{slug(gate)}.py"


def problem_name(task: str) -> str:
    """Path of a problem's source text below the run folder."""
    return f"problems/{task}.py"


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    try:
        header = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise KcbenchError(f"is not a run folder: it has no {HEADER}", where=str(folder)) from error
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise KcbenchError(f"is not JSON: {error}", where=str(path)) from error
    version = header.get("format") if isinstance(header, dict) else None
    if version != FORMAT:
        fix = f"this kcbench reads and writes format {FORMAT}: use the kcbench that made it, or another folder"
        raise KcbenchError(f"has format {version!r}", where=str(path), fix=fix)
    validate(header, "run", source=str(path))
    return dict(header)


def _check_same_run(folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in SAME_RUN:
        if name in found and name in wanted and found[name] != wanted[name]:
            what = f"holds a run with {name} {json.dumps(found[name])}, and this one has {json.dumps(wanted[name])}"
            raise KcbenchError(what, where=str(folder), fix="choose another folder, or the same settings to resume")


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: a record lock, which children of a fork server do not inherit, so that none can outlive the run."""
    path = folder / LOCK
    # Closing any descriptor of a file drops this process's record locks on it, so a lock that is held is not even opened.
    if path.exists() and _identity(os.stat(path)) in _held:
        raise KcbenchError("this process is writing the run folder already", where=str(folder))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    identity = _identity(os.fstat(descriptor))
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        who = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        what = f"another run is writing this folder{f' (process {who})' if who else ''}"
        raise KcbenchError(what, where=str(folder), fix="wait for it, or choose another folder") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    _held.add(identity)
    try:
        yield
    finally:
        _held.discard(identity)
        os.close(descriptor)


def _identity(facts: os.stat_result) -> tuple[int, int]:
    return facts.st_dev, facts.st_ino


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as stream:
        stream.write(text.encode("utf-8", "replace"))
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(part, path)
    sync_folder(path.parent)
