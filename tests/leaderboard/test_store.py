"""What the store counts is what the report counts, for the sample, for hand-made results and for made-up ones."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.timing import Stats, Timing
from kcbench.errors import KcbenchError
from kcbench.hub.results import write_run
from kcbench.leaderboard.feed import SAMPLE
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.store import Store
from kcbench.numerics.statistics import wilson
from kcbench.report import fast_p
from kcbench.report.gap import CodeCount, Gap, GateCount, Table, measure
from kcbench.report.journal import encode
from kcbench.report.store import RunFolder
from tests.report.conftest import GATES, HEADER, result
from tests.report.conftest import SAMPLE as BY_HAND

HONEST = 17
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Writes a run into a results folder, and gives the folder."""
    number = iter(range(1000))

    def make(results: Sequence[Result], *, below: str = "", **header: Any) -> Path:
        run = tmp_path / "runs" / str(next(number))
        with RunFolder.create(run, {**HEADER, **header}) as folder:
            for item in results:
                folder.append(item)
        write_run(run, tmp_path / "results" / below)
        return tmp_path / "results"

    yield make


def expected(results: Sequence[Result], check: str, without: tuple[str, ...]) -> Gap:
    """What the report says. Rows have one column for the sizes of both checks, and these results disagree about them."""
    found = measure(results, check, without=without)
    scored = [item for item in results if any(score.check == check for score in item.legacy)]
    return dataclasses.replace(found, sizes=("reduced",) if found.sizes else ()) if scored else found


def opened(folder: Path) -> Store:
    return Store.open(folder, folder.parent / "cache")


@pytest.mark.parametrize("check", ["kernelbench-v0", "kernelbench-v1"])
@pytest.mark.parametrize(
    "without", [(), ("PRC-01.tf32",), ("ORD-02",), ("CMP-03", "EXC-01.absorbed"), ("CMP-01", "CMP-03", "EXC-01", "PRC-01"), GATES]
)
def test_the_gap_is_the_reports(write: Write, check: str, without: tuple[str, ...]) -> None:
    found = opened(write(BY_HAND)).gap(Filters(without=without, legacy=check)).gap
    assert found == expected(BY_HAND, check, tuple(sorted(without)))


def test_only_some_gates_is_the_report_without_the_others(write: Write) -> None:
    store = opened(write(BY_HAND))
    found = store.gap(Filters(gates=("ORD-02", "EXC-01"))).gap
    others = tuple(gate for gate in GATES if gate not in ("ORD-02", "EXC-01"))
    assert found == expected(BY_HAND, "kernelbench-v0", others)
    assert found.table == Table(4, 3, 2, 1)


STATUSES = st.sampled_from(["PASS", "PASS", "PASS", "NOT_APPLICABLE", "REFERENCE_INVALID", "ERROR"])
CODES = (
    "CMP-01.value",
    "CMP-01.zeros",
    "CMP-03.crash",
    "ORD-02.nondeterministic",
    "ORD-02.alias-input",
    "GUARD.unfinished",
    "ZZZ-09.new",
)


@st.composite
def random_results(draw: st.DrawFn) -> tuple[Result, ...]:
    made = []
    for number in range(draw(st.integers(1, 12))):
        codes = draw(st.lists(st.sampled_from(CODES[:6]), unique=True, max_size=3))
        made.append(
            result(
                f"s{number:02d}",
                *codes,
                v0=draw(st.sampled_from([True, True, False, None])),
                v1=draw(st.sampled_from([True, False, None])),
                status=draw(st.sampled_from(["scored"] * 8 + ["unloadable", "skipped", "error"])),
                loud=tuple(code for code in codes if draw(st.booleans())),
                statuses=draw(st.dictionaries(st.sampled_from(GATES), STATUSES, max_size=3)),
                checks=draw(st.integers(1, 3)),
            )
        )
    return tuple(made)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(results=random_results(), without=st.lists(st.sampled_from((*GATES, *CODES[:6])), unique=True, max_size=3))
def test_the_gap_of_any_results_is_the_reports(
    tmp_path_factory: pytest.TempPathFactory, results: tuple[Result, ...], without: list[str]
) -> None:
    run = tmp_path_factory.mktemp("run")
    with RunFolder.create(run, HEADER) as folder:
        for item in results:
            folder.append(item)
    store = Store.open(run, tmp_path_factory.mktemp("cache"))
    assert store.facts().faults == ()
    aside = tuple(sorted(without))
    for check in ("kernelbench-v0", "kernelbench-v1"):
        found, theirs = store.gap(Filters(without=aside, legacy=check)).gap, measure(results, check, without=aside)
        assert dataclasses.replace(found, sizes=theirs.sizes) == theirs
    effects = store.gap(Filters())
    for effect in (*effects.gates, *effects.codes):
        assert effect.without == measure(results, "kernelbench-v0", without=(effect.name,)).rate, effect.name
        assert effect.alone == store.gap(only(effect.name, effects.gap.codes)).gap.rate, effect.name


def only(name: str, codes: Sequence[CodeCount]) -> Filters:
    """Filters that leave the findings of one gate or code."""
    others = [item.code for item in codes if name not in (item.code, item.code.partition(".")[0])]
    return Filters(without=tuple(others))


def test_the_sample_is_a_real_run() -> None:
    store = Store.open(None)
    facts = store.facts()
    assert (facts.source, facts.submissions, facts.verdicts, facts.authors, facts.tasks) == ("sample", 40, 520, 3, 16)
    assert (facts.synthetic, facts.faults, facts.superseded) == (False, (), 0)
    gap = store.gap(Filters()).gap
    # As submissions/README.md has it, for Triton's interpreter.
    assert gap.table == Table(19, 21, 0, 0)
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*.parquet")) < 1_000_000
    board = store.board(Filters())
    assert board["kernels"].sum() == 40
    assert board["clean_rate"].is_sorted(descending=True)
    every = [store.submission(row["run"], row["submission"]) for row in store.submissions(Filters()).rows.to_dicts()]
    assert len(every) == 40
    for detail in every:
        assert detail is not None
        assert detail.evidence and detail.source and not detail.notes
        codes = {f"{verdict.gate}.{finding.code}" for verdict in detail.verdicts for finding in verdict.findings}
        assert detail.scripts.keys() == codes, detail.submission
        assert (detail.outcome == "refused") == bool(codes)


@pytest.mark.parametrize("check", ["kernelbench-v0", "kernelbench-v1"])
def test_the_sample_is_counted_as_the_report_counts_it(check: str) -> None:
    store = Store.open(None)
    results = []
    for row in store.submissions(Filters()).rows.to_dicts():
        detail = store.submission(row["run"], row["submission"])
        assert detail is not None
        legacy = tuple(LegacyScore(name, True, accepts, size=detail.legacy_size) for name, accepts in detail.legacy)
        facts = {"id": detail.submission, "task": detail.task}
        results.append(Result(detail.submission, facts, detail.status, "", legacy, detail.verdicts, detail.labels))
    for without in ((), ("CMP-01",), ("CMP-01.value", "EXC-01", "PRC-01")):
        assert store.gap(Filters(legacy=check, without=without)).gap == measure(results, check, without=without)


def test_nothing_needs_torch() -> None:
    code = """
import sys
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.store import Store
store = Store.open(None)
row = store.submissions(Filters(), outcome="refused").rows.row(0, named=True)
assert store.submission(row["run"], row["submission"]).scripts
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_script_of_the_sample_shows_its_finding(tmp_path: Path) -> None:
    """The script stands alone; here it runs in a process that has torch and nothing of kcbench."""
    pytest.importorskip("triton")
    store = Store.open(None)
    [row] = store.submissions(Filters(search="relu/maximum")).rows.to_dicts()
    detail = store.submission(row["run"], row["submission"])
    assert detail is not None
    script = tmp_path / "repro.py"
    script.write_text(detail.scripts["EXC-01.absorbed"])
    made = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, env={**os.environ}, timeout=300)
    assert (made.returncode, made.stdout.splitlines()[-1].partition(":")[0]) == (1, "REPRODUCED"), made.stdout + made.stderr


def test_a_board_by_hand(write: Write) -> None:
    mine = [result(f"a/{n}", *(["PRC-02.accumulator"] if n < 3 else []), v0=n != 3) for n in range(8)]
    other = [result("b/0", status="error", facts={"author": "other"}), result("b/1", "CMP-01.value", facts={"author": "other"})]
    board = opened(write([*mine, *other])).board(Filters())
    first, second = board.to_dicts()
    assert [first["author"], second["author"]] == ["someone", "other"]
    assert (first["kernels"], first["tasks"], first["clean"], first["refused"], first["left_out"]) == (8, 1, 5, 3, 0)
    assert (first["clean_rate"], first["clean_low"], first["clean_high"]) == (5 / 8, *wilson(5, 8))
    assert (first["accepted"], first["scored"], first["legacy_rate"]) == (7, 8, 7 / 8)
    assert (first["gap"], first["gap_low"], first["gap_high"], first["floor"]) == (3 / 7, *wilson(3, 7), 3 / 8)
    assert (first["fast_1"], first["speedup"], first["timed"], first["verified"]) == (None, None, 0, 0)
    assert (first["devices"], first["tiers"], first["newest"]) == (
        ["a CPU"],
        ["process"],
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    assert (second["kernels"], second["left_out"], second["clean_rate"], second["floor"]) == (2, 1, 0.0, 0.0)


def timing(ratio: float, *flags: str) -> Timing:
    eager = Stats(2.0 * ratio, 4.0 * ratio, 0.1, 1.0, 3.0, 10)
    return Timing(2.0, 4.0, 0.1, 1.0, 3.0, 10, baselines={"eager": eager}, flags=flags)


def test_speed_is_fast_p(write: Write) -> None:
    def kernel(number: int, ratio: float | None, *codes: str, sample: int = 0, **changes: Any) -> Result:
        origin = {"suite": "kernelbench", "level": 1, "problem_id": number, "sample_id": sample}
        timed = None if ratio is None else timing(ratio, *(["excessive-speedup"] if ratio > 10 else []))
        return result(f"k{number}-{sample}", *codes, v1=True, facts={"origin": origin}, timing=timed, labels=(), **changes)

    results = [
        kernel(1, 2.0),
        kernel(2, 1.0),
        kernel(3, 0.5),
        kernel(4, 12.0, "CMP-01.value"),
        kernel(5, None),
        kernel(6, 3.0),
        kernel(6, 9.0, sample=1),
        kernel(7, None, status="unloadable"),
    ]
    folder = write(results)
    found = opened(folder).speed(Filters(legacy="kernelbench-v1"))
    scores = fast_p.measure(results, HEADER)
    assert scores is not None
    lines = {line.judge: line for line in scores.lines}
    for name, judge in (("contract", fast_p.CONTRACT), ("legacy", fast_p.LEGACY)):
        curve = dict(found.curve.select("p", name).iter_rows())
        for p, share in zip(fast_p.P_VALUES, lines[judge].shares, strict=True):
            assert curve[p] == share, (name, p)
    assert (found.kernels, found.timed, found.flagged) == (7, 5, 1)
    [point] = found.authors.to_dicts()
    assert point["speedup"] == pytest.approx(lines[fast_p.CONTRACT].mean)
    [row] = opened(folder).board(Filters()).to_dicts()
    assert row["fast_1"] == pytest.approx(2 / 7)
    assert (row["timed"], row["flagged"]) == (5, 1)


def test_filters_choose(write: Write) -> None:
    folder = write([result("a", "CMP-01.value"), result("b", facts={"author": "Ann", "language": "cuda"}, labels=())])
    folder = write(
        [result("c", facts={"task": "level2/linear_bias_gelu"}), result("d/softmax")],
        seed=8,
        device={"kind": "cuda", "name": "NVIDIA H200"},
        sandbox={"tier": "bwrap"},
        tasks={"level2/linear_bias_gelu": "0" * 64},
    )
    store = opened(folder)

    def ids(**filters: Any) -> str:
        return " ".join(sorted(store.submissions(Filters(**filters)).rows["submission"]))

    assert ids() == "a b c d/softmax"
    assert ids(authors=("Ann",)) == ids(languages=("cuda",)) == ids(backends=("compiled",)) == "b"
    assert ids(devices=("NVIDIA H200",)) == ids(tiers=("bwrap",)) == "c d/softmax"
    assert ids(levels=("2",)) == ids(tasks=("level2/linear_bias_gelu",)) == ids(categories=("fused",)) == "c"
    assert ids(levels=("1", "2"), authors=("someone",)) == "a c d/softmax"
    assert ids(search="SOFTMAX") == "a b d/softmax"
    assert ids(search="ann") == "b"
    assert ids(authors=("nobody",)) == ids(search="?") == ""
    assert ids(dtypes=("bfloat16",)) == "a b c d/softmax"
    assert ids(dtypes=("float8",)) == ids(trust=("verified",)) == ids(versions=("9",)) == ""
    assert ids(trust=("self-reported", "verified")) == ids(suites=("",)) == "a b c d/softmax"
    [run] = {row["run"] for row in store.submissions(Filters(authors=("Ann",))).rows.to_dicts()}
    assert ids(runs=(run[:12],)) == "a b"
    choices = store.choices()
    assert (choices.levels, choices.languages, choices.authors) == (("1", "2"), ("cuda", "triton"), ("Ann", "someone"))
    assert (choices.backends, choices.trust, choices.codes) == (
        ("compiled", "interpreted"),
        ("self-reported",),
        ("CMP-01.value",),
    )
    assert (choices.gates, choices.dtypes[0], choices.legacy) == (GATES, "float32", ("kernelbench-v0",))
    assert choices.categories == ("fused", "normalization")


def test_listing_pages_and_asks_for_gates(write: Write) -> None:
    store = opened(write(BY_HAND))
    whole = store.submissions(Filters())
    assert (whole.total, len(whole.rows)) == (14, 14)
    outcomes = dict(zip(whole.rows["submission"], whole.rows["outcome"], strict=True))
    assert outcomes["honest/a"] == "clean"
    assert outcomes["broken/nan"] == "refused"
    assert outcomes["unloadable"] == "unloadable"
    assert outcomes["harness/whole"] == "error"
    assert outcomes["skipped"] == "skipped"
    parts = [store.submissions(Filters(), offset=offset, limit=5).rows for offset in (0, 5, 10, 15)]
    assert pl.concat(parts)["submission"].to_list() == whole.rows["submission"].to_list()
    assert store.submissions(Filters(), gate="ORD-02").rows["submission"].to_list() == ["broken/alias", "broken/race"]
    [one] = store.submissions(Filters(), gate="ORD-02.alias-output").rows.to_dicts()
    assert (one["submission"], one["codes"], one["legacy"]) == ("broken/alias", ["ORD-02.alias-output"], True)
    assert store.submissions(Filters(without=("ORD-02",)), gate="ORD-02").total == 0
    assert store.submissions(Filters(), outcome="unloadable").rows["submission"].to_list() == ["unloadable"]
    assert store.submissions(Filters(), outcome="nonsense", gate="nonsense", offset=-3, limit=-1).total == 0


def test_heat_counts_judged_gates(write: Write) -> None:
    store = opened(write([result("a", "CMP-01.value"), result("b", statuses={"CMP-01": "NOT_APPLICABLE"}), result("c")]))
    for by in ("author", "category"):
        heat = {row["gate"]: row for row in store.heat(Filters(), by).to_dicts()}
        assert list(heat) == list(GATES)
        assert (heat["CMP-01"]["failed"], heat["CMP-01"]["asked"], heat["CMP-01"]["share"]) == (1, 2, 0.5)
        assert (heat["RES-01"]["failed"], heat["RES-01"]["asked"], heat["RES-01"]["share"]) == (0, 3, 0.0)
    with pytest.raises(ValueError, match="no heat by 'task'"):
        store.heat(Filters(), "task")
    counts = {item.gate: item for item in store.gap(Filters()).gap.gates}
    assert isinstance(counts["CMP-01"], GateCount)
    assert counts["CMP-01"].fail_share.k == 1


def test_two_sides(write: Write) -> None:
    ours = {"author": "ours"}
    gelu = {"task": "level1/gelu"}
    results = [
        result("o/1", facts=ours),
        result("o/2", "CMP-01.value", facts={**ours, **gelu}),
        result("t/1", "CMP-01.value"),
        result("t/2", facts=gelu),
        result("t/3", facts={"task": "level1/relu"}),
    ]
    found = opened(write(results)).compare(Filters(authors=("ours",)), Filters(authors=("someone",)))
    assert (found.first.kernels, found.second.kernels, found.second.tasks) == (2, 3, 3)
    assert (found.only_first, found.only_second, found.both, found.neither) == (1, 1, 0, 0)
    assert found.tasks["task"].to_list() == ["level1/gelu", "level1/softmax"]
    row = found.gates.filter(pl.col("gate") == "CMP-01").to_dicts()[0]
    assert (row["first_failed"], row["first_judged"], row["second_failed"], row["second_judged"]) == (1, 2, 1, 3)


def test_tasks_and_a_task(write: Write) -> None:
    store = opened(write([result("a"), result("b", "EXC-01.absorbed"), result("c", facts={"task": "mine/own"})]))
    table = store.tasks(Filters())
    assert table.select("task", "level", "category", "kernels", "clean").rows() == [
        ("level1/softmax", "1", "normalization", 2, 1),
        ("mine/own", "", "", 1, 1),
    ]
    figures = store.task("level1/softmax")
    assert figures.codes.rows() == [("EXC-01.absorbed", 1)]
    assert (figures.gap.table, figures.authors["author"].to_list()) == (Table(1, 1, 0, 0), ["someone"])
    nothing = store.task("../../etc/passwd")
    assert (nothing.gap.results, len(nothing.authors)) == (0, 0)


def test_the_newest_result_of_a_submission_counts(write: Write) -> None:
    write([result("a", "CMP-01.value"), result("b")])
    folder = write([result("a")], created="2026-05-01T00:00:00+00:00")
    store = opened(folder)
    assert (store.facts().submissions, store.facts().superseded, store.facts().runs) == (2, 1, 2)
    assert store.facts().newest == datetime(2026, 5, 1, tzinfo=UTC)
    assert store.gap(Filters()).gap.table == Table(2, 0, 0, 0)
    old = store.submissions(Filters()).rows.filter(pl.col("submission") == "b")["run"][0]
    assert store.gap(Filters(runs=(old,))).gap.table == Table(1, 1, 0, 0)


def test_verified_is_what_lies_in_the_maintainers_folder(write: Write) -> None:
    write([result("a", "CMP-01.value")], below="verified")
    folder = write([result("a")], created="2026-05-01T00:00:00+00:00")
    store = opened(folder)
    [row] = store.submissions(Filters()).rows.to_dicts()
    assert (row["verified"], row["outcome"]) == (True, "refused")
    detail = store.submission(row["run"], "a")
    assert detail is not None and detail.verified and detail.evidence
    assert store.board(Filters())["verified"].to_list() == [1]
    assert store.choices().trust == ("verified", "self-reported")
    # The same run a second time, by anybody: the maintainers' file counts, and evidence comes from there.
    [own] = (folder / "verified" / "data").iterdir()
    for table in ("data", "submissions"):
        (folder / table / own.name).write_bytes((folder / "verified" / table / own.name).read_bytes())
    again = opened(folder)
    assert [row["verified"] for row in again.submissions(Filters(search="a")).rows.to_dicts()] == [True]
    assert again.facts().faults == ("1 submission met a second time: counted once",)


def test_partial_runs_are_left_out(write: Write) -> None:
    whole = result("whole", "CMP-01.value")
    part = dataclasses.replace(result("part"), verdicts=result("part").verdicts[:3])
    store = opened(write([whole, part]))
    figures = store.gap(Filters())
    assert (figures.gap.results, figures.partial, figures.gap.table) == (1, 1, Table(0, 1, 0, 0))
    assert store.board(Filters())["left_out"].to_list() == [1]
    assert store.submissions(Filters(), outcome="partial").rows["submission"].to_list() == ["part"]
    # Asked about what it was asked about, it counts.
    assert store.gap(Filters(gates=("CMP-01",))).gap.table == Table(1, 1, 0, 0)


def test_refresh_sees_what_changes(write: Write) -> None:
    folder = write([result("a")])
    store = opened(folder)
    before = store.board(Filters())
    assert store.refresh() is False
    assert store.board(Filters()) is before
    write([result("b", "CMP-01.value")], created="2026-02-01T00:00:00+00:00")
    assert store.refresh() is True
    assert (store.facts().submissions, store.facts().runs) == (2, 2)
    for path in folder.rglob("*.parquet"):
        path.unlink()
    assert store.refresh() is True
    assert store.facts().submissions == 0
    assert store.board(Filters()).is_empty()
    assert store.gap(Filters()).gap.table == Table()
    assert store.speed(Filters()).curve.is_empty()
    assert store.submissions(Filters()).total == 0


def test_a_run_folder_as_it_is(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "mine"
    with RunFolder.create(run, HEADER) as folder:
        folder.append(result("a", "PRC-01.tf32"))
    (run / "results.parquet").write_bytes(b"not read")
    for place in (run, tmp_path / "runs"):
        store = Store.open(place, tmp_path / "cache")
        assert store.facts().faults == ()
        [row] = store.submissions(Filters()).rows.to_dicts()
        detail = store.submission(row["run"], "a")
        assert detail is not None
        assert detail.verdicts == result("a", "PRC-01.tf32").verdicts
        assert (detail.source, detail.scripts) == ("", {})
    # A run that goes on, and is looked at in the middle of a line.
    with (run / "verdicts.jsonl").open("ab") as stream:
        stream.write(encode(result("b"))[:-40])
    assert store.refresh() is True
    assert store.facts().submissions == 1


def test_answers_come_from_the_cache(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(BY_HAND)
    first = opened(folder)
    monkeypatch.setattr("kcbench.leaderboard.store.combine", lambda _found: pytest.fail("combined again"))
    again = opened(folder)
    assert again.gap(Filters()) == first.gap(Filters())
    assert again.board(Filters()).equals(first.board(Filters()))
    monkeypatch.undo()
    for path in (tmp_path / "cache").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-20])
    damaged = opened(folder)
    assert damaged.gap(Filters()) == first.gap(Filters())


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match=r"--results .*/none: there is no such folder"):
        Store.open(tmp_path / "none", tmp_path)
    with pytest.raises(KcbenchError, match="is not the name of a dataset on the Hub"):
        Store.open("hf://nonsense", tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    store = Store.open(empty, tmp_path / "cache")
    facts = store.facts()
    assert (facts.submissions, facts.newest, facts.faults, facts.synthetic) == (0, None, (), False)
    assert store.tasks(Filters()).is_empty()
    assert store.heat(Filters(), "author").is_empty()
    assert store.compare(Filters(), Filters()).tasks.is_empty()
    assert store.submission("0" * 64, "a") is None
    assert math.isclose(store.gap(Filters()).gap.rate.high, 1.0)
