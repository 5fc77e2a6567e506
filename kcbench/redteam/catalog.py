"""The catalogue of red-team kernels: broken ones that the gates must refuse, honest ones that they must not.

Each file below ``broken/`` and ``honest/`` is a self-contained KernelBench submission. It says what it is in comment lines
``# redteam: key=value``; this module reads those lines and never imports the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcbench.domain.submission import Submission
from kcbench.errors import KcbenchError
from kcbench.gates import gate_ids
from kcbench.suites.folder import parse_submission
from kcbench.suites.source import parse

BROKEN = "broken"
HONEST = "honest"

REQUIREMENTS = ("cuda",)
"""What an entry may require of the device on which it is scored."""

PUBLISHED_DEFECTS = (
    "buffer_aliasing",
    "cached_result",
    "device_silent_move",
    "dropout_in_disguise",
    "fp16_accumulator",
    "fp32_only_correct",
    "grad_wrong_kernel",
    "inf_propagation_bug",
    "memoizes_first_input",
    "nan_on_extremes",
    "nan_on_subnormal",
    "no_op_via_side_channel",
    "nondeterministic",
    "parallel_reduction_bug",
    "returns_input",
    "shape_specific",
    "subnormal_flush_bug",
    "wrong_dtype_promotion",
    "wrong_shape_output",
)
"""The nineteen defect classes of the published red-team suite (arXiv 2608.12700), here each on several tasks."""

_HEADER = re.compile(r"^# redteam:\s*(?P<key>[a-z]+)\s*=\s*(?P<value>.*?)\s*$")
_KEYS = frozenset({"task", "kind", "defect", "expect", "requires", "note"})
_TASK = re.compile(r"^level\d+/[a-z0-9_]+$")
_CODE = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$")
_MOST_CODES = 4
_Fail = Callable[..., KcbenchError]


@dataclass(frozen=True)
class Entry:
    """One red-team kernel."""

    id: str
    """Path below ``kcbench/redteam`` without ``.py``, for example ``broken/returns_input/level1_relu``."""
    task: str
    """Task id, for example ``level1/relu``."""
    kind: str
    """``broken`` or ``honest``."""
    path: Path
    source: str
    defect: str = ""
    """Defect class of a broken kernel; empty for an honest one."""
    expect: tuple[str, ...] = ()
    """``GATE.code``: at least one of these must be among the findings of a broken kernel."""
    requires: str = ""
    """``cuda`` where the defect can only be seen on a GPU."""
    note: str = ""
    """What is wrong, or why an honest kernel looks suspicious, in one line."""

    @property
    def broken(self) -> bool:
        return self.kind == BROKEN

    @property
    def technique(self) -> str:
        """What tells this kernel from others of its task: the defect class, or the file name of an honest one."""
        return self.defect or self.path.stem

    def submission(self) -> Submission:
        """The kernel as a candidate for scoring."""
        return parse_submission(self.source, path=str(self.path), id=self.id, task=self.task)


def parse_entry(source: str, *, path: Path, identifier: str) -> Entry:
    """Read one entry from source text.

    Args:
        source: Text of the file.
        path: Where it lies, for messages.
        identifier: The entry's id.

    Raises:
        KcbenchError: The header is incomplete or contradicts itself, or the file defines no ``ModelNew``.
    """

    def fail(what: str, fix: str = "") -> KcbenchError:
        return KcbenchError(what, where=identifier, fix=fix)

    fields: dict[str, str] = {}
    for line in source.splitlines():
        match = _HEADER.match(line)
        if match is None:
            if line.startswith("# redteam:"):
                raise fail(f"cannot read the header line {line!r}", "write '# redteam: key=value'")
            continue
        key, value = match["key"], match["value"]
        if key not in _KEYS:
            raise fail(f"unknown header key {key!r}", f"use one of {', '.join(sorted(_KEYS))}")
        if key in fields:
            raise fail(f"header key {key!r} is given twice")
        if not value:
            raise fail(f"header key {key!r} is empty")
        fields[key] = value
    for key in ("task", "kind", "note"):
        if key not in fields:
            raise fail(f"header key {key!r} is missing", f"add '# redteam: {key}=...'")
    if not _TASK.match(fields["task"]):
        raise fail(f"{fields['task']!r} is not a task id", "write it as level1/softmax")
    requires = fields.get("requires", "")
    if requires and requires not in REQUIREMENTS:
        raise fail(f"unknown requirement {requires!r}", f"use one of {', '.join(REQUIREMENTS)}")
    expect = tuple(code.strip() for code in fields.get("expect", "").split(",") if code.strip())
    _check_kind(fields, expect, fail)
    if problem := parse(source).problem:
        raise fail(problem)
    return Entry(
        id=identifier,
        task=fields["task"],
        kind=fields["kind"],
        path=path,
        source=source,
        defect=fields.get("defect", ""),
        expect=expect,
        requires=requires,
        note=fields["note"],
    )


def load_catalog(root: Path | None = None) -> list[Entry]:
    """All entries below a folder, sorted by kind, defect class or task, and id.

    Args:
        root: Folder that holds ``broken/<defect>/<level>_<task>.py`` and ``honest/<level>_<task>/<technique>.py``; by default
            this package's own.

    Raises:
        KcbenchError: A header is wrong, or a file lies in a folder that contradicts its header.
    """
    base = Path(__file__).parent if root is None else root
    entries = []
    for kind in (BROKEN, HONEST):
        for path in sorted((base / kind).glob("*/*.py")):
            identifier = path.relative_to(base).with_suffix("").as_posix()
            entry = parse_entry(path.read_text(encoding="utf-8"), path=path, identifier=identifier)
            _check_place(entry, kind)
            entries.append(entry)
    if not entries:
        raise KcbenchError("no red-team kernels", where=str(base), fix="reinstall kcbench")
    return entries


def defects(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Broken entries by defect class, classes in alphabetical order."""
    groups: dict[str, list[Entry]] = {}
    for entry in sorted((item for item in entries if item.broken), key=lambda item: (item.defect, item.id)):
        groups.setdefault(entry.defect, []).append(entry)
    return groups


def _check_kind(fields: Mapping[str, str], expect: tuple[str, ...], fail: _Fail) -> None:
    kind = fields["kind"]
    if kind == HONEST:
        for key in ("defect", "expect", "requires"):
            if key in fields:
                raise fail(f"an honest kernel has no {key!r}", "remove the line or set kind=broken")
        return
    if kind != BROKEN:
        raise fail(f"unknown kind {kind!r}", "use broken or honest")
    if "defect" not in fields:
        raise fail("header key 'defect' is missing", "name the defect class")
    if not expect:
        raise fail("header key 'expect' is missing", "name the codes that are right reasons to refuse it")
    if len(set(expect)) != len(expect) or len(expect) > _MOST_CODES:
        raise fail(f"{len(expect)} expected codes", f"name at most {_MOST_CODES}, each once: any refusal would do otherwise")
    for item in expect:
        gate, _, code = item.partition(".")
        if gate not in gate_ids() or not _CODE.match(code):
            raise fail(f"{item!r} is no failure code", "write GATE.code, for example EXC-01.absorbed")


def _check_place(entry: Entry, folder: str) -> None:
    parent, stem = entry.path.parent.name, entry.path.stem
    task = entry.task.replace("/", "_")
    if entry.kind != folder:
        raise KcbenchError(f"kind={entry.kind} lies below {folder}/", where=entry.id, fix=f"move it below {entry.kind}/")
    group = entry.defect if entry.broken else task
    if parent != group:
        raise KcbenchError(f"lies in {parent}/", where=entry.id, fix=f"move it to {folder}/{group}/")
    if entry.broken and stem != task and not stem.startswith(f"{task}_"):
        raise KcbenchError(
            f"file name {stem}.py does not start with its task", where=entry.id, fix=f"name it {task}.py or {task}_*.py"
        )
