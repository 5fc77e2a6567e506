"""The rigor gap: what a legacy check accepts and the contract refuses.

Two units are counted, and never mixed:

* *submissions*, in the 2x2 table, the floor and silent/loud. Left out (and counted) are results where the harness failed
  anywhere, what the machine could not run, and results that carry no score of the legacy check.
* *verdicts*, in the table of gates and the table of codes. Every verdict of every result stands for itself there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kcbench.domain import verdict as v
from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.verdict import Finding, Verdict
from kcbench.errors import KcbenchError
from kcbench.numerics.statistics import mcnemar, wilson
from kcbench.report.catalog import BY_ID, GATES, TOLERANCE_FREE
from kcbench.report.sentences import SENTENCES


@dataclass(frozen=True)
class Share:
    """k of n, with the Wilson 95 % interval; the interval is [0, 1] where n is 0."""

    k: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """The share k / n, or None where nothing was counted."""
        return self.k / self.n if self.n else None

    @classmethod
    def of(cls, k: int, n: int) -> Share:
        return cls(k, n, *wilson(k, n))


@dataclass(frozen=True)
class Table:
    """Submissions by what the legacy check and the contract say."""

    accepted_clean: int = 0
    accepted_refused: int = 0
    """The gap: accepted by the legacy check, refused by the contract."""
    rejected_clean: int = 0
    rejected_refused: int = 0

    @property
    def accepted(self) -> int:
        return self.accepted_clean + self.accepted_refused

    @property
    def rejected(self) -> int:
        return self.rejected_clean + self.rejected_refused

    @property
    def clean(self) -> int:
        return self.accepted_clean + self.rejected_clean

    @property
    def refused(self) -> int:
        return self.accepted_refused + self.rejected_refused

    @property
    def total(self) -> int:
        return self.accepted + self.rejected


@dataclass(frozen=True)
class GateCount:
    """How one gate answered over all results."""

    gate: str
    passed: int
    failed: int
    not_applicable: int
    reference_invalid: int
    error: int
    fail_share: Share
    """Failed among judged (passed + failed)."""


@dataclass(frozen=True)
class CodeCount:
    """In how many results a failure code was found."""

    code: str
    """``GATE.code``."""
    results: int
    accepted: int
    """Those of them that the legacy check accepts (harness errors left out)."""
    silent: int
    """Those of them where a finding with this code is silent."""


@dataclass(frozen=True)
class Gap:
    """The rigor gap between one legacy check and the contract."""

    check: str
    sizes: tuple[str, ...]
    """``full`` and ``reduced``: the sizes at which the legacy check ran."""
    without: tuple[str, ...]
    """Codes (or whole gates) that were set aside."""
    results: int
    """All results given."""
    errors: int
    """Left out: the harness failed, as a whole or in one gate."""
    skipped: int
    """Left out: this machine cannot run them."""
    unscored: int
    """Left out: no score of this legacy check."""
    table: Table
    rate: Share
    """The gap: refused among accepted."""
    p_value: float
    """McNemar's exact test (two-sided) on the disagreements."""
    one_sided: Share
    """Disagreements in which the contract is the stricter one, among all disagreements."""
    floor: Share
    """Refused by a tolerance-free finding, among all counted; what could not be loaded is not in k."""
    accepted_floor: Share
    """The same among those that the legacy check accepts."""
    unloadable: int
    """Refused because the file could not be loaded."""
    silent: int
    """Refused with at least one silent finding."""
    loud: int
    """Refused by exceptions only, what could not be loaded included."""
    unjudged: int
    """Clean, but no gate could judge anything: not evidence of quality."""
    gates: tuple[GateCount, ...]
    codes: tuple[CodeCount, ...]
    """Most frequent first."""

    @property
    def modal(self) -> tuple[str, ...]:
        """The most common defect; several codes where they tie, none where there are no findings."""
        most = max((item.results for item in self.codes), default=0)
        return tuple(sorted(item.code for item in self.codes if item.results == most))

    def to_json(self) -> dict[str, Any]:
        """All figures as JSON-ready data."""
        return {**asdict(self), "modal": list(self.modal)}


def legacy_checks(results: Iterable[Result]) -> tuple[str, ...]:
    """Names of the legacy checks that scored at least one result, sorted."""
    return tuple(sorted({score.check for result in results for score in result.legacy}))


def legacy_score(result: Result, check: str) -> LegacyScore | None:
    """What a legacy check says of a result, or None."""
    return next((score for score in result.legacy if score.check == check), None)


def accepts(score: LegacyScore) -> bool:
    """Whether a legacy check accepts: it compiled and was found correct."""
    return score.compiled and score.correct


def measure(results: Sequence[Result], check: str, *, without: Sequence[str] = ()) -> Gap:
    """Measure the gap between one legacy check and the contract.

    Args:
        results: What a run says, in any order.
        check: Name of the legacy check, for example ``kernelbench-v0``.
        without: Codes (``PRC-01.tf32``) or gates (``PRC-01``) to set aside. A gate left without findings passes if
            other checks of it were made, and does not apply if not.

    Raises:
        KcbenchError: ``without`` names a code or gate that does not exist.
    """
    _check_without(without, results)
    kept = [_without(result, frozenset(without)) for result in results]
    usable = [result for result in kept if result.status != "skipped" and not _failed_harness(result)]
    skipped = sum(result.status == "skipped" for result in kept)
    scored = [(result, score) for result in usable if (score := legacy_score(result, check)) is not None]
    accepted = [result for result, score in scored if accepts(score)]
    table = _table(scored)
    counted = [result for result, _ in scored]
    refused = [result for result in counted if result.refused]
    silent = sum(any(finding.silent for finding in _findings(result)) for result in refused)
    disagreements = table.accepted_refused + table.rejected_clean
    return Gap(
        check=check,
        sizes=tuple(sorted({score.size for _, score in scored})),
        without=tuple(without),
        results=len(results),
        errors=len(kept) - len(usable) - skipped,
        skipped=skipped,
        unscored=len(usable) - len(scored),
        table=table,
        rate=Share.of(table.accepted_refused, table.accepted),
        p_value=mcnemar(table.accepted_refused, table.rejected_clean),
        one_sided=Share.of(table.accepted_refused, disagreements),
        floor=Share.of(sum(map(_beyond_argument, counted)), len(counted)),
        accepted_floor=Share.of(sum(map(_beyond_argument, accepted)), len(accepted)),
        unloadable=sum(result.status == "unloadable" for result in counted),
        silent=silent,
        loud=len(refused) - silent,
        unjudged=sum(result.clean and not any(item.status == v.PASS for item in result.verdicts) for result in counted),
        gates=_gate_counts(kept),
        codes=_code_counts(kept, {result.key for result in accepted}),
    )


def _check_without(without: Sequence[str], results: Sequence[Result]) -> None:
    known = set(SENTENCES) | set(BY_ID) | {code for result in results for code in result.codes}
    for code in without:
        if code not in known:
            raise KcbenchError(
                f"{code!r} is not a failure code", fix="write GATE.code, for example PRC-01.tf32, or a gate such as PRC-01"
            )


def _without(result: Result, codes: frozenset[str]) -> Result:
    """The result with some codes set aside."""
    if not codes or not any(code in codes or code.partition(".")[0] in codes for code in result.codes):
        return result
    verdicts = tuple(_set_aside(verdict, codes) for verdict in result.verdicts)
    return replace(result, verdicts=verdicts)


def _set_aside(verdict: Verdict, codes: frozenset[str]) -> Verdict:
    left = [item for item in verdict.findings if verdict.gate not in codes and f"{verdict.gate}.{item.code}" not in codes]
    if len(left) == len(verdict.findings):
        return verdict
    others = 0 if verdict.gate in codes else max(0, verdict.checks - (len(verdict.findings) - len(left)))
    return Verdict.of(verdict.gate, left, checks=others, notes=verdict.notes, metrics=verdict.metrics, reason="set aside")


def _failed_harness(result: Result) -> bool:
    return result.status == "error" or any(verdict.status == v.ERROR for verdict in result.verdicts)


def _findings(result: Result) -> list[Finding]:
    return [finding for verdict in result.verdicts for finding in verdict.findings]


def _beyond_argument(result: Result) -> bool:
    """Whether a finding of a tolerance-free gate, or of the guard, refuses it."""
    found = {code for verdict in result.verdicts if verdict.gate in TOLERANCE_FREE for code in verdict.codes}
    # Limits of time and memory, and what a call raises for want of them, can be argued with.
    return any(code != "GUARD.unfinished" and not code.endswith(".crash") for code in found)


def _table(scored: Sequence[tuple[Result, LegacyScore]]) -> Table:
    cells = Counter((accepts(score), result.refused) for result, score in scored)
    return Table(cells[True, False], cells[True, True], cells[False, False], cells[False, True])


def _gate_counts(results: Sequence[Result]) -> tuple[GateCount, ...]:
    counts: dict[str, Counter[str]] = {gate.id: Counter() for gate in GATES}
    for verdict in (verdict for result in results for verdict in result.verdicts):
        counts.setdefault(verdict.gate, Counter())[verdict.status] += 1
    return tuple(
        GateCount(
            gate,
            seen[v.PASS],
            seen[v.FAIL],
            seen[v.NOT_APPLICABLE],
            seen[v.REFERENCE_INVALID],
            seen[v.ERROR],
            Share.of(seen[v.FAIL], seen[v.PASS] + seen[v.FAIL]),
        )
        for gate, seen in counts.items()
    )


def _code_counts(results: Sequence[Result], accepted: set[str]) -> tuple[CodeCount, ...]:
    found: Counter[str] = Counter()
    passed_legacy: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    for result in results:
        quiet = {f"{verdict.gate}.{item.code}" for verdict in result.verdicts for item in verdict.findings if item.silent}
        for code in result.codes:
            found[code] += 1
            passed_legacy[code] += result.key in accepted
            silent[code] += code in quiet
    ordered = sorted(found, key=lambda code: (-found[code], code))
    return tuple(CodeCount(code, found[code], passed_legacy[code], silent[code]) for code in ordered)
