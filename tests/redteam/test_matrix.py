"""The matrix judges the gates rightly on made-up results."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from kcbench.domain import verdict as v
from kcbench.domain.result import Result
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates import gate_ids
from kcbench.redteam import Entry, judge, render
from kcbench.redteam import matrix as m


def entry(name: str, *, kind: str = "broken", expect: Sequence[str] = ("EXC-01.absorbed",), requires: str = "") -> Entry:
    broken = kind == "broken"
    group = "nan_to_num" if broken else "level1_softmax"
    identifier = f"{kind}/{group}/{name}"
    return Entry(
        id=identifier,
        task="level1/softmax",
        kind=kind,
        path=Path(f"{identifier}.py"),
        source="",
        defect=group if broken else "",
        expect=tuple(expect) if broken else (),
        requires=requires,
        note="swallows NaN",
    )


def result(item: Entry, *codes: str, status: str = "scored", **statuses: str) -> Result:
    """A result in which every gate passes but those of ``codes``; ``EXC_01="ERROR"`` sets a gate's status."""
    verdicts = []
    for gate in gate_ids():
        findings = [Finding(code.partition(".")[2], f"saw {code}") for code in codes if code.partition(".")[0] == gate]
        other = statuses.get(gate.replace("-", "_"), v.PASS)
        verdicts.append(Verdict(gate, v.FAIL if findings else other, tuple(findings), reason="broke" if other == v.ERROR else ""))
    return Result("key", {"id": item.id, "task": item.task}, status, "it says why", verdicts=tuple(verdicts))


def outcome(item: Entry, *results: Result, device: str = "cpu") -> m.Judgement:
    (judgement,) = judge([item], results, device=device).judgements
    return judgement


BAD = entry("level1_softmax")
GOOD = entry("online", kind="honest")


def test_broken_refused_for_an_expected_code() -> None:
    judgement = outcome(BAD, result(BAD, "CMP-01.value", "EXC-01.absorbed"))
    assert judgement.outcome == m.REFUSED and not judgement.bad
    assert judgement.cells is not None
    assert (judgement.cells["EXC-01"], judgement.cells["CMP-01"], judgement.cells["GUARD"]) == ("X", "x", ".")


def test_broken_that_passes_is_bad() -> None:
    judgement = outcome(BAD, result(BAD))
    assert judgement.outcome == m.PASSED and judgement.bad
    assert "EXC-01.absorbed" in judgement.reason and "swallows NaN" in judgement.reason


def test_broken_refused_for_another_code_is_bad() -> None:
    judgement = outcome(BAD, result(BAD, "CMP-01.value", "EXC-01.minted"))
    assert judgement.outcome == m.WRONG_REASON and judgement.bad
    assert judgement.reason.index("CMP-01.value (saw CMP-01.value)") < judgement.reason.index("EXC-01.minted")


def test_any_expected_code_will_do() -> None:
    item = entry("level1_softmax", expect=("EXC-01.absorbed", "CMP-01.value"))
    assert outcome(item, result(item, "CMP-01.value")).outcome == m.REFUSED


@pytest.mark.parametrize(("device", "expected"), [("cpu", m.NOT_APPLICABLE), ("cuda", m.PASSED), ("cuda:1", m.PASSED)])
def test_only_requires_excuses(device: str, expected: str) -> None:
    item = entry("level1_softmax", requires="cuda")
    assert outcome(item, result(item), device=device).outcome == expected


def test_a_gate_that_does_not_apply_does_not_excuse() -> None:
    assert outcome(BAD, result(BAD, EXC_01=v.NOT_APPLICABLE)).outcome == m.PASSED


@pytest.mark.parametrize("item", [BAD, GOOD], ids=["broken", "honest"])
def test_what_was_not_decided_is_bad(item: Entry) -> None:
    assert outcome(item).outcome == m.UNDECIDED
    assert outcome(item, result(item, status="unloadable")).outcome == m.UNDECIDED
    assert outcome(item, result(item, "EXC-01.absorbed", CMP_01=v.ERROR)).reason == "harness error in CMP-01: broke"
    everywhere = {gate.replace("-", "_"): v.NOT_APPLICABLE for gate in gate_ids()}
    assert outcome(item, result(item, **everywhere)).reason == "no gate checked anything"


def test_honest() -> None:
    assert outcome(GOOD, result(GOOD, RES_02=v.NOT_APPLICABLE)).outcome == m.CLEAN
    refused = outcome(GOOD, result(GOOD, "ORD-01.order"))
    assert refused.outcome == m.REFUSED_HONEST and refused.bad and "ORD-01.order (saw ORD-01.order)" in refused.reason


def test_summary_and_exit_code() -> None:
    cuda = entry("level1_softmax_cuda", requires="cuda")
    fine = judge([GOOD, BAD, cuda], [result(BAD, "EXC-01.absorbed"), result(GOOD)], device="cpu")
    assert fine.summary == "1 broken refused of 1, 1 honest clean of 1, 1 not applicable here"
    assert fine.exit_code == 0
    assert [item.entry.kind for item in fine.judgements] == ["broken", "broken", "honest"]
    assert judge([BAD, GOOD], [result(BAD), result(GOOD)], device="cpu").exit_code == 1
    assert judge([], [], device="cpu").exit_code == 1


@pytest.mark.parametrize("color", [None, "truecolor"])
def test_rendering_fits_80_columns_and_lists_what_is_bad_last(color: str | None) -> None:
    items = [BAD, entry("level4_gated_delta_rule"), GOOD]
    matrix = judge(items, [result(BAD, "EXC-01.absorbed", "CMP-01.value"), result(items[1]), result(GOOD)], device="cpu")
    stream = io.StringIO()
    Console(file=stream, width=80, color_system=color, force_terminal=color is not None).print(render(matrix))
    text = stream.getvalue()
    assert matrix.summary in text
    if color is None:
        assert max(map(len, text.splitlines())) <= 80
        (row,) = [line for line in text.splitlines() if "level1/softmax" in line and line.startswith("ok") and "X" in line]
        assert row.split()[2:] == [".", "x", ".", ".", ".", ".", ".", ".", ".", "X", ".", ".", "."]
        assert text.index("Honest controls") < text.index("BAD broken/nan_to_num/level4_gated_delta_rule")
