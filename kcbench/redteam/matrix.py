"""The red-team matrix: whether the gates refuse each broken kernel for a right reason and leave each honest one alone.

A kernel that is refused for another reason than its defect counts as a failure of the gates: the refusal is luck, and the defect
may still slip through in the next kernel that carries it. ``NOT_APPLICABLE`` never excuses a miss; only an entry's ``requires``
does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kcbench.domain import verdict as v
from kcbench.domain.result import Result
from kcbench.gates import gate_ids
from kcbench.redteam.catalog import Entry

REFUSED = "refused"
PASSED = "passed"
WRONG_REASON = "wrong-reason"
CLEAN = "clean"
REFUSED_HONEST = "refused-honest"
NOT_APPLICABLE = "not-applicable"
UNDECIDED = "undecided"

GOOD_OUTCOMES = frozenset({REFUSED, CLEAN, NOT_APPLICABLE})

_EXPECTED = "X"
_FAILED = "x"
_SYMBOLS = {v.PASS: ".", v.NOT_APPLICABLE: "-", v.REFERENCE_INVALID: "r", v.ERROR: "!"}
# Blue and orange stay apart for every common kind of colour blindness; the symbols alone carry the meaning.
_STYLES = {
    _EXPECTED: "bold bright_blue",
    _FAILED: "bold orange1",
    "!": "bold reverse",
    ".": "dim",
    "-": "dim",
    "r": "dim",
    "?": "dim",
}
_LABELS = {
    REFUSED: "ok",
    CLEAN: "ok",
    NOT_APPLICABLE: "n.a.",
    PASSED: "BAD",
    WRONG_REASON: "BAD",
    REFUSED_HONEST: "BAD",
    UNDECIDED: "BAD",
}
_LEGEND = (
    "X refused for an expected code   x refused for another code   . pass\n"
    "- not applicable   r reference invalid   ! harness error   ? no verdict\n"
    "G guards   C CMP   O ORD   P PRC   E EXC   R RES"
)


_Key = Callable[["Judgement"], tuple[str, str]]


@dataclass(frozen=True)
class Judgement:
    """What the gates made of one red-team kernel."""

    entry: Entry
    outcome: str
    """One of the outcome names of this module."""
    reason: str = ""
    """For a bad outcome: one sentence for a person."""
    cells: Mapping[str, str] | None = None
    """One symbol per gate id; None where there is no result."""

    @property
    def bad(self) -> bool:
        return self.outcome not in GOOD_OUTCOMES


@dataclass(frozen=True)
class Matrix:
    """All judgements of one run over the catalogue."""

    judgements: tuple[Judgement, ...]

    @property
    def bad(self) -> tuple[Judgement, ...]:
        return tuple(item for item in self.judgements if item.bad)

    @property
    def exit_code(self) -> int:
        """0 where every broken kernel is refused for a right reason and every honest one is clean, else 1."""
        return 1 if self.bad or not self.judgements else 0

    @property
    def summary(self) -> str:
        """``N broken refused of N, M honest clean of M, K not applicable here``."""
        outcomes = Counter(item.outcome for item in self.judgements)
        broken = sum(1 for item in self.judgements if item.entry.broken and item.outcome != NOT_APPLICABLE)
        honest = sum(1 for item in self.judgements if not item.entry.broken)
        return (
            f"{outcomes[REFUSED]} broken refused of {broken}, {outcomes[CLEAN]} honest clean of {honest}, "
            f"{outcomes[NOT_APPLICABLE]} not applicable here"
        )


def judge(entries: Iterable[Entry], results: Iterable[Result], *, device: str) -> Matrix:
    """Judge the gates by what they said of the red-team kernels.

    Args:
        entries: The entries that were to be scored.
        results: One result per entry, matched by id; results of other submissions are ignored.
        device: Device on which they were scored, ``cpu`` or ``cuda`` (an index may follow).

    Returns:
        One judgement per entry, broken ones first, in the order of ``entries``.
    """
    by_id = {result.id: result for result in results}
    kind = device.partition(":")[0]
    judgements = [_judge(entry, by_id.get(entry.id), kind) for entry in entries]
    return Matrix(tuple(sorted(judgements, key=lambda item: not item.entry.broken)))


def render(matrix: Matrix) -> RenderableType:
    """The matrix kernel x gate for a terminal of 80 columns: broken kernels by defect class, honest controls, then bad rows."""
    parts: list[RenderableType] = []
    broken = [item for item in matrix.judgements if item.entry.broken]
    honest = [item for item in matrix.judgements if not item.entry.broken]
    for title, rows, key in (("Broken kernels", broken, _defect), ("Honest controls", honest, _task)):
        if rows:
            parts += [_table(title, rows, key), Text()]
    parts.append(Text(_LEGEND, style="dim"))
    if matrix.bad:
        parts += [Text(), Text("Bad", style="bold")]
        for item in matrix.bad:
            line = Text("BAD ", style="bold orange1")
            line.append(item.entry.id, style="bold")
            line.append(f": {item.reason}", style="not bold")
            parts.append(line)
    parts += [Text(), Text(matrix.summary, style="bold")]
    return Group(*parts)


def _judge(entry: Entry, result: Result | None, device: str) -> Judgement:
    if entry.requires and entry.requires != device:
        return Judgement(entry, NOT_APPLICABLE, f"needs {entry.requires}")
    if result is None:
        return Judgement(entry, UNDECIDED, "no result")
    cells = _cells(entry, result)
    if result.status != "scored":
        return Judgement(entry, UNDECIDED, f"{result.status}: {result.reason}", cells)
    errors = [verdict for verdict in result.verdicts if verdict.status == v.ERROR]
    if errors:
        return Judgement(entry, UNDECIDED, f"harness error in {errors[0].gate}: {errors[0].reason}", cells)
    # No verdict at all, or only NOT_APPLICABLE ones, would let an honest kernel through unseen.
    if not any(verdict.status in (v.PASS, v.FAIL) for verdict in result.verdicts):
        return Judgement(entry, UNDECIDED, "no gate checked anything", cells)
    if not entry.broken:
        if result.clean:
            return Judgement(entry, CLEAN, cells=cells)
        return Judgement(entry, REFUSED_HONEST, f"honest, but refused for {_findings(result)}", cells)
    if set(entry.expect) & set(result.codes):
        return Judgement(entry, REFUSED, cells=cells)
    if result.refused:
        return Judgement(entry, WRONG_REASON, f"expected {' or '.join(entry.expect)}, refused for {_findings(result)}", cells)
    return Judgement(entry, PASSED, f"not refused ({entry.note}); expected {' or '.join(entry.expect)}", cells)


def _findings(result: Result) -> str:
    found = {
        f"{verdict.gate}.{finding.code}": finding.summary
        for verdict in reversed(result.verdicts)
        for finding in reversed(verdict.findings)
    }
    return "; ".join(f"{code} ({summary})" for code, summary in reversed(found.items()))


def _cells(entry: Entry, result: Result) -> dict[str, str]:
    cells = {}
    for gate in gate_ids():
        verdict = result.verdict(gate)
        if verdict is None:
            cells[gate] = "?"
        elif verdict.status == v.FAIL:
            cells[gate] = _EXPECTED if set(verdict.codes) & set(entry.expect) else _FAILED
        else:
            cells[gate] = _SYMBOLS[verdict.status]
    return cells


def _table(title: str, rows: Sequence[Judgement], key: _Key) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    table.add_column("", no_wrap=True, max_width=4)
    table.add_column("kernel", no_wrap=True, overflow="ellipsis", max_width=34)
    for gate in gate_ids():
        table.add_column(_column(gate), no_wrap=True, min_width=2)
    for group, members in groupby(rows, key=lambda item: key(item)[0]):
        table.add_row("", Text(group, style="bold"))
        for item in members:
            cells = [Text("" if item.cells is None else item.cells[gate]) for gate in gate_ids()]
            for cell in cells:
                cell.stylize(_STYLES.get(cell.plain, ""))
            label = Text(_LABELS[item.outcome], style="bold orange1" if item.bad else "dim")
            table.add_row(label, Text(f"  {key(item)[1]}"), *cells)
    return table


def _column(gate: str) -> str:
    family, _, number = gate.partition("-")
    return f"{family[0]}{number.lstrip('0')}"


def _defect(item: Judgement) -> tuple[str, str]:
    return item.entry.defect, item.entry.path.stem.replace("_", "/", 1)


def _task(item: Judgement) -> tuple[str, str]:
    return item.entry.task, item.entry.technique
