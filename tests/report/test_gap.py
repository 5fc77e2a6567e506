"""The rigor gap, against figures counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.domain.result import Result
from kcbench.domain.verdict import FAIL, NOT_APPLICABLE, PASS
from kcbench.errors import KcbenchError
from kcbench.report import summary
from kcbench.report.catalog import GATES
from kcbench.report.gap import Share, Table, legacy_checks, measure
from kcbench.report.sentences import SENTENCES

V0 = "kernelbench-v0"


def test_the_table_is_the_hand_count(sample: tuple[Result, ...]) -> None:
    gap = measure(sample, V0)
    assert gap.table == Table(accepted_clean=2, accepted_refused=5, rejected_clean=1, rejected_refused=2)
    assert (gap.table.accepted, gap.table.rejected, gap.table.clean, gap.table.refused, gap.table.total) == (7, 3, 3, 7, 10)
    assert (gap.results, gap.errors, gap.skipped, gap.unscored) == (14, 2, 1, 1)
    assert gap.sizes == ("reduced",)


def test_the_interval_and_the_test_are_the_textbook_ones(sample: tuple[Result, ...]) -> None:
    gap = measure(sample, V0)
    # Wilson 95 % for 5 of 7, from the quadratic with z = 1.959964.
    assert (gap.rate.k, gap.rate.n) == (5, 7)
    assert (gap.rate.low, gap.rate.high) == pytest.approx((0.358926, 0.917783), abs=1e-5)
    # 5 against 1 of 6 fair coins: 2 (C(6,0) + C(6,1)) / 2^6.
    assert gap.p_value == pytest.approx(14 / 64)
    assert (gap.one_sided.k, gap.one_sided.n) == (5, 6)


def test_the_floor_counts_exact_gates_and_not_files_that_cannot_be_loaded(sample: tuple[Result, ...]) -> None:
    gap = measure(sample, V0)
    assert (gap.floor.k, gap.floor.n) == (3, 10)
    assert (gap.accepted_floor.k, gap.accepted_floor.n) == (3, 7)
    assert gap.unloadable == 1
    assert (gap.silent, gap.loud) == (5, 2)


def test_the_guard_belongs_to_the_floor(make: Callable[..., Result]) -> None:
    gap = measure([make("a", "GUARD.mutates-input"), make("b", "CMP-02.vjp")], V0)
    assert (gap.floor.k, gap.floor.n) == (1, 2)


def test_gates_are_counted_over_all_verdicts(sample: tuple[Result, ...]) -> None:
    counts = {item.gate: item for item in measure(sample, V0).gates}
    assert tuple(counts) == tuple(gate.id for gate in GATES)
    prc, exc, res = counts["PRC-01"], counts["EXC-02"], counts["RES-01"]
    assert (prc.passed, prc.failed, prc.not_applicable, prc.reference_invalid, prc.error) == (8, 2, 0, 1, 0)
    assert (prc.fail_share.k, prc.fail_share.n) == (2, 10)
    assert (exc.passed, exc.error) == (10, 1)
    assert (res.passed, res.not_applicable) == (9, 2)


def test_codes_know_who_passed_the_legacy_check(sample: tuple[Result, ...]) -> None:
    gap = measure(sample, V0)
    codes = {item.code: item for item in gap.codes}
    # One of the two is in a result with a harness error, which counts for verdicts and not for submissions.
    assert (codes["CMP-01.value"].results, codes["CMP-01.value"].accepted) == (2, 0)
    assert (codes["EXC-01.sign"].results, codes["EXC-01.sign"].accepted, codes["EXC-01.sign"].silent) == (1, 1, 1)
    assert codes["CMP-03.crash"].silent == 0
    assert gap.codes[0].code == "CMP-01.value"
    assert gap.modal == ("CMP-01.value",)


def test_ties_for_the_modal_defect_are_listed(make: Callable[..., Result]) -> None:
    assert measure([make("a", "ORD-01.order"), make("b", "CMP-02.vjp"), make("c")], V0).modal == ("CMP-02.vjp", "ORD-01.order")
    assert measure([make("c")], V0).modal == ()


def test_a_code_can_be_set_aside(sample: tuple[Result, ...]) -> None:
    gap = measure(sample, V0, without=["PRC-01.tf32"])
    assert gap.table == Table(3, 4, 1, 2)
    assert gap.p_value == pytest.approx(12 / 32)
    assert "PRC-01.tf32" not in {item.code for item in gap.codes}
    assert next(item for item in gap.gates if item.gate == "PRC-01").passed == 9
    assert gap.without == ("PRC-01.tf32",)


def test_a_gate_without_other_checks_does_not_pass_when_its_finding_is_set_aside(make: Callable[..., Result]) -> None:
    results = [make("one", "PRC-01.tf32", checks=1), make("many", "PRC-01.tf32", "PRC-01.value", checks=9)]
    by_code = next(item for item in measure(results, V0, without=["PRC-01.tf32"]).gates if item.gate == "PRC-01")
    assert (by_code.passed, by_code.failed, by_code.not_applicable) == (0, 1, 1)
    by_gate = next(item for item in measure(results, V0, without=["PRC-01"]).gates if item.gate == "PRC-01")
    assert (by_gate.passed, by_gate.failed, by_gate.not_applicable) == (0, 0, 2)


def test_setting_aside_what_does_not_exist_is_an_error(sample: tuple[Result, ...]) -> None:
    with pytest.raises(KcbenchError, match=r"'PRC-01.tf23' is not a failure code \(write GATE.code"):
        measure(sample, V0, without=["PRC-01.tf23"])


def test_each_legacy_check_has_its_own_gap(sample: tuple[Result, ...]) -> None:
    assert legacy_checks(sample) == ("kernelbench-v0", "kernelbench-v1")
    assert measure(sample, "kernelbench-v1").table == Table(3, 3, 0, 4)


def test_clean_without_a_single_pass_is_told(make: Callable[..., Result]) -> None:
    empty = make("a", statuses=dict.fromkeys([gate.id for gate in GATES], NOT_APPLICABLE))
    assert measure([empty, make("b")], V0).unjudged == 1


def test_nothing_at_all_is_no_gap() -> None:
    gap = measure([], V0)
    assert gap.table.total == 0
    assert gap.p_value == 1.0
    assert gap.rate == Share(0, 0, 0.0, 1.0)
    assert gap.rate.value is None
    assert "Nothing to compare" in summary.headline(gap)


def test_the_figures_are_json(sample: tuple[Result, ...]) -> None:
    data = json.loads(json.dumps(measure(sample, V0).to_json(), allow_nan=False))
    assert data["table"]["accepted_refused"] == 5
    assert data["modal"] == ["CMP-01.value"]


def test_the_sentences_say_the_same(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    gap = measure(sample, V0)
    text = " ".join((summary.headline(gap), *summary.statements(gap))).replace("\u00a0", " ")
    assert (
        "Of 7 submissions that kernelbench-v0 accepts, the contract refuses 71.4 % (5 of 7; 95 % interval 35.9 to 91.8 %)."
        in text
    )
    assert "Disagreements: 6, the contract being the stricter one in 5 of them (83.3 %); McNemar exact p = 0.22." in text
    assert "Of 7 refusals, 5 are silent and 2 loud." in text
    assert "reduced sizes" in text
    assert "2 with a harness error, 1 that cannot run here, 1 without a legacy score" in text
    assert [item.check for item in summary.gaps(sample, header)] == ["kernelbench-v0", "kernelbench-v1"]


def test_there_is_a_sentence_for_every_code_and_an_entry_for_every_gate() -> None:
    gates = pytest.importorskip("kcbench.gates")
    assert {gate.id: gate.tolerance_free for gate in gates.all_gates()} == {gate.id: gate.tolerance_free for gate in GATES}
    assert {f"{gate.id}.{code}" for gate in gates.all_gates() for code in gate.codes} == set(SENTENCES)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(sorted(SENTENCES)), max_size=3, unique=True),
            st.sampled_from([True, False, None]),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_the_parts_add_up(specs: list[tuple[list[str], bool | None, bool]]) -> None:
    from kcbench.domain.result import LegacyScore
    from kcbench.domain.verdict import Finding, Verdict

    def verdict(gate: str, codes: list[str]) -> Verdict:
        mine = [Finding(code.partition(".")[2], "it failed") for code in codes if code.startswith(gate)]
        return Verdict.of(gate, mine, checks=9)

    results = [
        Result(
            f"k{number}",
            {"id": f"s{number}", "task": "level1/softmax"},
            "scored" if loaded else "unloadable",
            legacy=() if accepted is None else (LegacyScore(V0, True, accepted),),
            verdicts=tuple(verdict(gate.id, codes) for gate in GATES) if loaded else (),
        )
        for number, (codes, accepted, loaded) in enumerate(specs)
    ]
    gap = measure(results, V0)
    assert gap.table.total + gap.errors + gap.unscored == len(results)
    assert gap.silent + gap.loud == gap.table.refused
    assert gap.floor.k + gap.unloadable <= gap.table.refused
    assert all(item.passed + item.failed == sum(loaded for *_, loaded in specs) for item in gap.gates)
    aside = measure(results, V0, without=sorted({code for codes, _, _ in specs for code in codes}))
    assert aside.table.refused == gap.unloadable
    assert aside.table.accepted == gap.table.accepted
    assert {verdict.status for result in results for verdict in result.verdicts} <= {PASS, FAIL}
