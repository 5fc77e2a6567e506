"""The gap in words: the same sentences for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcbench.domain.result import Result
from kcbench.report.gap import Gap, Share, legacy_checks, measure
from kcbench.report.text import count, one_line, percent, percents

HOW_TO_READ = (
    "Each row is one submission: a kernel that claims to compute a task. A legacy check (as published benchmarks use it) "
    "compares a few random outputs at one size and accepts what comes out close. The contract asks twelve further "
    "questions, the gates, and a guard checks the rules of the game. A kernel is refused when at least one of them finds a "
    "fault, and clean when none does.",
    "The rigor gap is the share of legacy-accepted kernels that the contract refuses. The floor counts only refusals that "
    "no choice of tolerance could undo: exact comparisons, such as two runs that differ or a NaN that vanished. A silent "
    "failure is a wrong answer without notice; a loud one is an exception where the contract promises a result.",
    "Not applicable never counts as a pass. Reference invalid means that eager torch itself fails the check, so the kernel "
    "is not blamed. Intervals are Wilson 95 % intervals.",
)


def gaps(results: Sequence[Result], header: Mapping[str, Any], *, without: Sequence[str] = ()) -> tuple[Gap, ...]:
    """The gap to every legacy check of the run: those that its header names, then any other that scored a result.

    Raises:
        KcbenchError: ``without`` names a code or gate that does not exist.
    """
    checks = dict.fromkeys((*header.get("legacy", ()), *legacy_checks(results)))
    return tuple(measure(results, check, without=without) for check in checks)


def interval(share: Share) -> str:
    """``30 % (12 of 40; 95 % interval 18 to 45.4 %)``; says so where nothing was counted."""
    if share.value is None:
        return "no share (0 of 0)"
    return f"{percent(share.value)} ({share.k:,} of {share.n:,}; 95 % interval {percents(share.low, share.high)})"


def headline(gap: Gap) -> str:
    """The gap in one sentence."""
    table = gap.table
    if not table.total:
        return f"Nothing to compare with {one_line(gap.check)}: no submission has both a score of it and a full set of verdicts."
    if not table.accepted:
        return f"{one_line(gap.check)} accepts none of {count(table.total, 'submission')}, so there is no gap to measure."
    refused = interval(gap.rate)
    return f"Of {count(table.accepted, 'submission')} that {one_line(gap.check)} accepts, the contract refuses {refused}."


def statements(gap: Gap, *, brief: bool = False) -> tuple[str, ...]:
    """Everything else that the gap says, one sentence each; figures that were not counted are left out.

    Args:
        gap: What to speak of.
        brief: Only what depends on the legacy check, for the second check of a report and later ones.
    """
    table = gap.table
    lines: list[str] = []
    if table.total:
        b, c = table.accepted_refused, table.rejected_clean
        if b + c:
            lines.append(
                f"Disagreements: {b + c:,}, the contract being the stricter one in {b:,} of them ({percent(b / (b + c))}); "
                f"McNemar exact p = {p_text(gap.p_value)}."
            )
        else:
            lines.append("The legacy check and the contract agree on every submission.")
        if not brief:
            lines.append(f"Floor, whatever the tolerances: {interval(gap.floor)} are refused by a tolerance-free finding.")
        if table.accepted:
            lines.append(f"Floor among what the legacy check accepts: {interval(gap.accepted_floor)}.")
        if table.refused and not brief:
            lines.append(f"Of {count(table.refused, 'refusal')}, {gap.silent:,} are silent and {gap.loud:,} loud.")
    if gap.unloadable and not brief:
        lines.append(f"{count(gap.unloadable, 'file')} could not be loaded: refused, and not counted in the floor.")
    if gap.modal and not brief:
        results = gap.codes[0].results
        lines.append(f"Most common defect: {' and '.join(map(one_line, gap.modal))} ({count(results, 'submission')}).")
    if gap.unjudged and not brief:
        lines.append(f"{count(gap.unjudged, 'clean submission')} could not be judged by any gate: no evidence of quality.")
    if "reduced" in gap.sizes:
        lines.append("The legacy check ran at reduced sizes (no GPU): it may judge otherwise at the task's own sizes.")
    left_out = (
        (gap.errors, "with a harness error"),
        (gap.skipped, "that cannot run here"),
        (gap.unscored, "without a legacy score"),
    )
    if any(number for number, _ in left_out):
        lines.append(f"Left out of the comparison: {', '.join(f'{number:,} {what}' for number, what in left_out if number)}.")
    if gap.without:
        lines.append(f"Set aside: {', '.join(map(one_line, gap.without))}.")
    return tuple(lines)


def p_text(p: float) -> str:
    """A p-value to two digits, and never as zero."""
    return "< 1e-300" if p < 1e-300 else f"{p:.2g}"


def run_facts(header: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Name and value of what a reader wants to know about the run; what the header does not have is left out."""
    device = header.get("device") or {}
    versions = header.get("versions") or {}
    facts = [
        ("kcbench", header.get("kcbench_version")),
        ("made", header.get("created")),
        ("seed", header.get("seed")),
        ("device", " ".join(str(device[name]) for name in ("kind", "name") if device.get(name))),
        ("sandbox", (header.get("sandbox") or {}).get("tier")),
        ("bounds", header.get("bounds")),
        *((name, version) for name, version in versions.items()),
        ("tasks", len(header["tasks"]) if header.get("tasks") else None),
    ]
    return tuple((one_line(name), one_line(value, limit=120)) for name, value in facts if value not in (None, ""))
