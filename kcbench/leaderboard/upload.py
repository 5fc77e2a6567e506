"""Upload: a run folder that a reader sends, checked before it is proposed for a results dataset.

What is sent is data. Nothing of it is executed or imported, and no path that it names is opened: only the two files that make a
run, and the texts of kernels, are taken out of it by name.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from kcbench.domain.result import Result
from kcbench.domain.schema import problems
from kcbench.errors import KcbenchError
from kcbench.hub.results import run_digest
from kcbench.report.explain import outcome
from kcbench.report.journal import decode
from kcbench.report.store import HEADER, JOURNAL, RunFolder
from kcbench.report.text import count, one_line

LARGEST = 64 << 20
"""Bytes that may be sent."""
LARGEST_UNPACKED = 256 << 20
"""Bytes that the files of an archive may have, all of them together."""
MOST_FILES = 5000
MOST_RESULTS = 5000
"""Lines of a journal: each takes about ten milliseconds to check."""
_LARGEST_SOURCE = 1 << 20
_SHOWN = 5
"""Wrong lines that are told one by one."""
GOOD, BAD, NOTE = "good", "bad", "note"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    state: str
    """``good``, ``bad`` (it cannot be taken) or ``note``."""
    text: str


@dataclass
class Upload:
    """A run that was sent."""

    folder: Path
    checks: list[Check] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    """Texts of the files beside the run, by their digests."""
    run: str = ""
    """Digest of its header; empty while that is not valid."""
    results: tuple[Result, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can be proposed."""
        return bool(self.results) and not any(check.state == BAD for check in self.checks)


def receive(files: Iterable[tuple[str, BinaryIO]], folder: Path) -> Upload:
    """Take the files that make a run, and check them.

    Args:
        files: Name and content of each file that was sent: an archive, or the files of a run folder.
        folder: An empty folder to put them into.
    """
    upload = Upload(folder)
    try:
        for name, content in _unpacked(files):
            _take(upload, name, content)
    except KcbenchError as error:
        upload.checks.append(Check(BAD, one_line(error)))
        return upload
    _check_header(upload)
    _check_journal(upload)
    if upload.results:
        upload.checks.extend(_notes(upload))
    return upload


def _unpacked(files: Iterable[tuple[str, BinaryIO]]) -> Iterator[tuple[str, bytes]]:
    """Base name and content of each file, those of archives included."""
    room = LARGEST_UNPACKED
    for name, stream in files:
        if not name.lower().endswith(".zip"):
            content = stream.read(room + 1)
            room -= len(content)
            _check_room(room)
            yield PurePosixPath(name.replace("\\", "/")).name, content
            continue
        try:
            with zipfile.ZipFile(stream) as archive:
                members = [item for item in archive.infolist() if not item.is_dir()]
                if len(members) > MOST_FILES:
                    raise KcbenchError(f"has {len(members):,} files", where=name, fix=f"at most {MOST_FILES:,} are taken")
                for item in members:
                    base = PurePosixPath(item.filename).name
                    if base not in (HEADER, JOURNAL) and not base.endswith(".py"):
                        continue
                    with archive.open(item) as member:
                        content = member.read(room + 1)  # The size that an archive states may be a lie.
                    room -= len(content)
                    _check_room(room)
                    yield base, content
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
            raise KcbenchError(
                f"is no archive that can be read: {error}", where=name, fix="send a .zip without password"
            ) from error


def _check_room(room: int) -> None:
    if room < 0:
        fix = f"at most {LARGEST_UNPACKED >> 20} MiB are taken: send run.json, verdicts.jsonl and the kernels only"
        raise KcbenchError("the files are too large", fix=fix)


def _take(upload: Upload, name: str, content: bytes) -> None:
    if name in (HEADER, JOURNAL):
        if (upload.folder / name).exists():
            raise KcbenchError(f"there is more than one {name}", fix="send one run at a time")
        (upload.folder / name).write_bytes(content)
    elif name.endswith(".py") and len(content) <= _LARGEST_SOURCE:
        text = content.decode("utf-8", "surrogateescape")
        upload.sources[hashlib.sha256(content).hexdigest()] = text


def _check_header(upload: Upload) -> None:
    path = upload.folder / HEADER
    if not path.is_file():
        upload.checks.append(
            Check(BAD, f"{HEADER} is missing: it says how the run was made. It lies in the folder that --out named.")
        )
        return
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        upload.checks.append(Check(BAD, f"{HEADER} is not JSON."))
        return
    wrong = problems(data, "run")
    upload.checks += [Check(BAD, one_line(f"{HEADER}: {item}", limit=300)) for item in wrong[:_SHOWN]]
    if len(wrong) > _SHOWN:
        upload.checks.append(Check(BAD, f"{HEADER}: {count(len(wrong) - _SHOWN, 'more fault')}."))
    if not wrong:
        upload.run = run_digest(data)
        made = f"kcbench {one_line(data['kcbench_version'], limit=40)} on {one_line(data['device']['name'], limit=80)}"
        upload.checks.append(Check(GOOD, f"{HEADER} is valid: {made}, {one_line(data['created'], limit=40)}."))


def _check_journal(upload: Upload) -> None:
    path = upload.folder / JOURNAL
    if not path.is_file():
        upload.checks.append(
            Check(BAD, f"{JOURNAL} is missing: it holds the verdicts. results.parquet alone does not have their evidence.")
        )
        return
    lines = path.read_bytes().split(b"\n")
    torn = bool(lines.pop())  # A journal ends with a line break, unless a run was killed while it wrote.
    if len(lines) > MOST_RESULTS:
        fix = "kcbench hub push-results takes any number"
        upload.checks.append(Check(BAD, f"{JOURNAL} has {len(lines):,} results; at most {MOST_RESULTS:,} are taken here: {fix}."))
        return
    found = (fault for number, line in enumerate(lines, 1) if (fault := _fault(number, line)))
    faults = list(itertools.islice(found, _SHOWN + 1))
    upload.checks += [Check(BAD, fault) for fault in faults[:_SHOWN]]
    if len(faults) > _SHOWN:
        upload.checks.append(Check(BAD, f"{JOURNAL}: there are further lines with faults."))
    if torn:
        upload.checks.append(Check(NOTE, f"{JOURNAL}: the last line is not whole and is left out; the run was stopped there."))
    if faults or not upload.run:
        return
    if not lines:
        upload.checks.append(Check(BAD, f"{JOURNAL} is empty: the run has no results yet."))
        return
    try:
        with RunFolder.open(upload.folder) as folder:
            upload.results = folder.results()
    except KcbenchError as error:
        upload.checks.append(Check(BAD, one_line(f"{JOURNAL}: {error.what}", limit=300)))
        return
    tasks = {result.task for result in upload.results}
    upload.checks.append(
        Check(GOOD, f"{JOURNAL} is valid: {count(len(upload.results), 'submission')} for {count(len(tasks), 'task')}.")
    )


def _fault(number: int, line: bytes) -> str:
    try:
        data = json.loads(line)
        if wrong := problems(data, "result"):
            return one_line(f"{JOURNAL}, line {number}: {wrong[0]}", limit=300)
        decode(line)
    except (ValueError, RecursionError) as error:
        return one_line(f"{JOURNAL}, line {number}: is not a result ({error})", limit=300)
    return ""


def _notes(upload: Upload) -> Iterator[Check]:
    results = upload.results
    tally = Counter(map(outcome, results))
    yield Check(NOTE, ", ".join(f"{number:,} {name}" for name, number in tally.items()) + ".")
    if tally["error"]:
        failed = count(tally["error"], "submission")
        yield Check(NOTE, f"{failed} with a harness error will be left out of every share; 'kcbench eval --resume' tries again.")
    interpreted = sum("interpreted" in result.labels for result in results)
    if interpreted:
        yield Check(NOTE, f"{count(interpreted, 'submission')} ran on Triton's interpreter, and will say so.")
    missing = _without_source(results, upload.sources)
    if missing:
        unsent = count(missing, "submission")
        yield Check(NOTE, f"The source of {unsent} is not among the files, and will not be shown. Add the .py files to show it.")
    nameless = sum(not result.submission.get("author") for result in results)
    if nameless:
        yield Check(NOTE, f"{count(nameless, 'submission')} name no author: a line '# kcbench: author=NAME' in the file does.")


def _without_source(results: Sequence[Result], sources: dict[str, str]) -> int:
    return sum(result.submission["digest"] not in sources for result in results)
