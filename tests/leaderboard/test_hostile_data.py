"""Results that are wrong by accident or by intent: the others are shown, and what is left out has a line."""

from __future__ import annotations

import hashlib
import json
import math
import random
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("pyarrow")

from kcbench.hub.results import write_run
from kcbench.leaderboard.evidence import DEEPEST, LONGEST_TEXT, MOST
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.store import Store
from kcbench.report.gap import Table
from kcbench.report.store import RunFolder
from tests.report.conftest import HEADER, result

SCRIPT = "<script>document.title='taken'</script>"
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with a sound run of two submissions, ``good`` and ``bad``."""
    with RunFolder.create(tmp_path / "sound", HEADER) as folder:
        folder.append(result("good"))
        folder.append(result("bad", "CMP-01.value"))
    write_run(tmp_path / "sound", tmp_path / "results")
    return tmp_path / "results"


def add(results: Path, *items: Any, data: Change = lambda rows: rows, submissions: Change = lambda rows: rows) -> None:
    """Add a run with another seed, after changing its tables."""
    with RunFolder.create(results.parent / "other", {**HEADER, "seed": "other"}) as folder:
        for item in items or (result("evil", "EXC-01.absorbed"),):
            folder.append(item)
    made = write_run(results.parent / "other", results)
    for path, change in zip(made.files.values(), (data, submissions), strict=True):
        change(pl.read_parquet(path)).write_parquet(path)


def opened(results: Path) -> Store:
    return Store.open(results, results.parent / "cache")


def every_view(store: Store) -> None:
    """Ask for everything; whatever raises fails the test."""
    filters = Filters()
    store.choices()
    store.board(filters)
    store.gap(filters)
    store.heat(filters, "author")
    store.heat(filters, "category")
    store.speed(filters)
    store.compare(filters, Filters(search="e"))
    for task in store.tasks(filters)["task"]:
        store.task(task)
    for row in store.submissions(filters).rows.to_dicts():
        assert store.submission(row["run"], row["submission"]) is not None


def check_sound(store: Store) -> None:
    """The sound run is there, whatever lies beside it."""
    every_view(store)
    assert store.gap(Filters(search="ood")).gap.table == Table(1, 0, 0, 0)
    [row] = store.submissions(Filters(), gate="CMP-01.value").rows.filter(pl.col("submission") == "bad").to_dicts()
    detail = store.submission(row["run"], "bad")
    assert detail is not None and detail.evidence


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def set_all(**values: Any) -> Change:
    return lambda rows: rows.with_columns(pl.lit(value).alias(name) for name, value in values.items())


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (lambda whole: whole[: len(whole) // 2], "cannot be read"),
        (lambda whole: whole[:100], "cannot be read"),
        (lambda _whole: b"", "cannot be read"),
        (lambda _whole: b"PAR1PAR1", "cannot be read"),
        (lambda _whole: b"<html>" * 1000, "cannot be read"),
        (lambda whole: whole[:4] + bytes(len(whole) - 8) + whole[-4:], "cannot be read"),
    ],
)
def test_damaged_files(results: Path, content: Callable[[bytes], bytes], fault: str) -> None:
    [whole] = (results / "data").iterdir()
    (results / "data" / "half.parquet").write_bytes(content(whole.read_bytes()))
    store = opened(results)
    check_sound(store)
    [line] = store.facts().faults
    assert line.startswith("data/half.parquet: ") and fault in line
    # It was only half written: complete, it is read.
    (results / "data" / "half.parquet").write_bytes(whole.read_bytes())
    assert store.refresh() is True
    assert store.facts().faults == ("2 submissions met a second time: counted once",)


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bytes(results: Path, seed: int) -> None:
    """What is read of a damaged file may be wrong, but nothing falls over, and the other run is whole."""
    add(results)
    rng = random.Random(seed)
    for path in sorted(results.rglob("*.parquet")):
        run = set(pl.read_parquet(path)["submission"])
        if run != {"evil"}:
            continue
        data = bytearray(path.read_bytes())
        for _ in range(20):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
        path.write_bytes(bytes(data))
    check_sound(opened(results))


def test_missing_columns(results: Path) -> None:
    add(
        results,
        data=lambda rows: rows.drop("gate_status", "run"),
        submissions=lambda rows: rows.drop("source", "timing", "cut", "labels"),
    )
    store = opened(results)
    check_sound(store)
    first, second = store.facts().faults
    assert first.startswith("data/run-") and first.endswith(": has no column run, gate_status")
    assert second == "1 submission row without result rows: not counted"


def test_columns_that_can_be_done_without(results: Path) -> None:
    dropped = [
        "codes",
        "silent_codes",
        "findings",
        "labels",
        "author",
        "created",
        "legacy_v1",
        "legacy_size",
        "suite",
        "sample_id",
        "checks",
    ]
    add(results, data=lambda rows: rows.drop(dropped), submissions=lambda rows: rows.select("run", "submission", "verdicts"))
    store = opened(results)
    check_sound(store)
    assert store.facts().faults == ()
    [row] = store.submissions(Filters(search="evil")).rows.to_dicts()
    assert (row["codes"], row["author"], row["created"], row["outcome"]) == (["EXC-01.absorbed"], "", None, "refused")
    assert store.gap(Filters(search="evil")).gap.silent == 1


@pytest.mark.parametrize("value", [7, 1.5, [1, 2], {"a": 1}, b"\xff\xfe", None])
def test_columns_of_another_type(results: Path, value: Any) -> None:
    names = ("author", "created", "labels", "sample_id", "legacy_v0", "codes", "checks", "device_name")
    details = (
        "speedup",
        "mean_ms",
        "eager_mean_ms",
        "timing_flags",
        "source",
        "legacy",
        "calls",
        "timing",
        "cut",
        "labels",
        "environment",
    )
    wrong = pl.Series([value])
    add(
        results,
        data=lambda rows: rows.with_columns(pl.lit(wrong).first().alias(name) for name in names),
        submissions=lambda rows: rows.with_columns(pl.lit(wrong).first().alias(name) for name in details),
    )
    check_sound(opened(results))


def test_script_tags_everywhere_stay_text(results: Path) -> None:
    texts = [name for name, kind in pl.read_parquet_schema(next((results / "data").iterdir())).items() if kind == pl.String]
    kept = ("run", "gate", "gate_status", "status", "submission", "code")
    add(
        results,
        data=lambda rows: rows.with_columns(pl.lit(SCRIPT).alias(name) for name in texts if name not in kept).with_columns(
            submission=pl.lit(SCRIPT)
        ),
        submissions=lambda rows: rows.with_columns(
            pl.lit(SCRIPT).alias(name)
            for name in ("submission", "task", "author", "language", "entry", "source", "reason", "untimed")
        ).with_columns(
            submission_digest=pl.lit(sha256(SCRIPT)),
            environment=pl.lit(json.dumps({SCRIPT: SCRIPT})),
            labels=pl.lit([SCRIPT]),
            cut=pl.lit([SCRIPT]),
        ),
    )
    store = opened(results)
    check_sound(store)
    [row] = store.submissions(Filters(search="<SCRIPT>")).rows.to_dicts()
    detail = store.submission(row["run"], SCRIPT)
    assert detail is not None
    assert (detail.author, detail.source, detail.environment, detail.labels, detail.notes) == (
        SCRIPT,
        SCRIPT,
        {SCRIPT: SCRIPT},
        (SCRIPT,),
        (SCRIPT,),
    )
    assert shlex.split(detail.command)[2:5] == [f"{SCRIPT.split('/')[-1]}.py", "--task", SCRIPT]
    assert SCRIPT in store.choices().authors
    assert Filters.from_query(Filters(authors=(SCRIPT,)).to_query()) == Filters(authors=(SCRIPT,))


def test_control_characters_become_visible(results: Path) -> None:
    odd = "a\x1b[2J\u202e\x00b"
    add(
        results,
        data=set_all(author=odd, task=odd, device_name=odd),
        submissions=set_all(source=odd, reason=odd, submission_digest=sha256(odd)),
    )
    store = opened(results)
    check_sound(store)
    [row] = store.submissions(Filters(search="evil")).rows.to_dicts()
    assert (row["author"], row["device"]) == ("a\ufffd[2J\ufffd\ufffdb",) * 2
    detail = store.submission(row["run"], "evil")
    assert detail is not None
    assert detail.source == r"a\x1b[2J\u202e\x00b"


def test_ten_megabytes_of_text(results: Path) -> None:
    long = "x" * 10_000_000
    verdict = {**result("evil", "EXC-01.absorbed").verdicts[9].to_json(), "reason": long}
    add(
        results,
        data=set_all(author=long, summary=long, gate_reason=long),
        submissions=set_all(
            source=long, reason=long, verdicts=json.dumps([verdict]), environment=json.dumps({"log": long}), cut=[]
        ),
    )
    store = opened(results)
    check_sound(store)
    [row] = store.submissions(Filters(search="evil")).rows.to_dicts()
    assert row["author"] == "x" * 200
    detail = store.submission(row["run"], "evil")
    assert detail is not None
    assert len(repr(detail)) < 300_000
    assert [item.status for item in detail.verdicts].count("FAIL") == 1, "the verdicts are told from the result rows"
    assert (detail.evidence, len(detail.verdicts)) == (False, 13)
    assert detail.notes == (
        f"verdicts: left out, it has {len(json.dumps([verdict])):,} characters",
        "source: left out, it has 10,000,000 characters",
        "reason: cut, it has 10,000,000 characters",
        "environment: left out, it has 10,000,011 characters",
    )


def test_another_source_than_what_was_scored(results: Path) -> None:
    add(results, submissions=set_all(source="print('as good as new')", cut=[]))
    store = opened(results)
    [row] = store.submissions(Filters(search="evil")).rows.to_dicts()
    detail = store.submission(row["run"], "evil")
    assert detail is not None
    assert (detail.source, detail.scripts) == ("", {})
    assert detail.notes == ("source: left out, it has another digest than what was scored",)


@pytest.mark.parametrize("figure", [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-320])
def test_figures_that_are_none(results: Path, figure: float) -> None:
    add(
        results,
        data=set_all(worst_ratio=figure),
        submissions=set_all(speedup=figure, mean_ms=figure, eager_mean_ms=1.0, median_ms=figure),
    )
    store = opened(results)
    check_sound(store)
    for row in store.board(Filters()).to_dicts():
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float)), row
    assert store.speed(Filters()).timed in (0, 1)


def test_unknown_gates_and_codes_count(results: Path) -> None:
    """A later kcbench may ask more than this one knows."""
    add(
        results,
        data=lambda rows: pl.concat(
            [rows, rows.tail(1).with_columns(gate=pl.lit("NEW-01"), gate_status=pl.lit("FAIL"), codes=pl.lit(["NEW-01.odd"]))]
        ),
    )
    store = opened(results)
    check_sound(store)
    [row] = store.submissions(Filters(), gate="NEW-01").rows.to_dicts()
    assert row["codes"] == ["EXC-01.absorbed", "NEW-01.odd"]
    assert (store.choices().gates[-1], store.choices().codes[-1]) == ("NEW-01", "NEW-01.odd")
    assert store.gap(Filters(gates=("NEW-01",))).gap.table == Table(0, 1, 0, 0)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (set_all(gate="<b>"), "1 submission set aside: gate '<b>'"),
        (lambda rows: pl.concat([rows, rows]), "1 submission set aside: two answers of GUARD"),
        (set_all(gate_status="MAYBE"), "1 submission set aside: answer 'MAYBE' of a gate"),
        (set_all(status="fine"), "1 submission set aside: status 'fine'"),
        (set_all(run="../../x"), "1 submission set aside: without a run, or without an id"),
        (set_all(submission=""), "1 submission set aside: without a run, or without an id"),
        (set_all(gate_status="FAIL", codes=[]), "1 submission set aside: code 'GUARD.'"),
    ],
)
def test_rows_that_make_no_sense(results: Path, change: Change, fault: str) -> None:
    add(results, data=change)
    store = opened(results)
    check_sound(store)
    assert fault in store.facts().faults
    assert store.submissions(Filters(search="evil")).total == 0


def test_a_row_cannot_call_itself_clean(results: Path) -> None:
    add(results, data=set_all(clean=True, refused=False))
    assert opened(results).submissions(Filters(search="evil")).rows["outcome"].to_list() == ["refused"]


@pytest.mark.parametrize(
    "verdicts",
    [
        "no JSON",
        "[1, 2]",
        "{}",
        '[{"gate": "CMP-01"}]',
        '[{"gate": "CMP-01", "status": "FAIL", "findings": [], "reason": "", "checks": 1, "notes": [], "metrics": {}}]',
        '[{"gate": "CMP-01", "status": "PASS", "findings": [], "reason": "", "checks": "x", "notes": [], "metrics": 5}]',
        "[" * 100_000,
        '[{"gate": "CMP-01", "status": "PASS", "findings": [], "reason": "", "checks": 1e999, "notes": [], "metrics": {}}]',
        "9" * 10_000,
    ],
)
def test_verdicts_that_make_no_sense(results: Path, verdicts: str) -> None:
    add(results, submissions=set_all(verdicts=verdicts, calls=verdicts, legacy=verdicts, timing=verdicts, environment=verdicts))
    store = opened(results)
    check_sound(store)
    [row] = store.submissions(Filters(search="evil")).rows.to_dicts()
    detail = store.submission(row["run"], "evil")
    assert detail is not None
    assert detail.timing is None
    if detail.verdicts:
        assert all(item.gate for item in detail.verdicts)


def test_deep_and_wide_values_are_bounded(results: Path) -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"a": deep}
    wide = {str(number): "y" for number in range(2 * MOST)}
    add(results, submissions=set_all(environment=json.dumps({"deep": deep, "wide": wide, "long": "z" * 2 * LONGEST_TEXT})))
    store = opened(results)
    [row] = store.submissions(Filters(search="evil")).rows.to_dicts()
    detail = store.submission(row["run"], "evil")
    assert detail is not None
    environment = detail.environment
    assert repr(environment["deep"]).count("{") == DEEPEST
    assert (len(environment["wide"]), len(environment["long"])) == (MOST, LONGEST_TEXT)


def test_nothing_outside_the_folder_is_read(results: Path, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "secret" / "run", {**HEADER, "seed": "secret"}) as folder:
        folder.append(result("secret"))
    made = write_run(tmp_path / "secret" / "run", tmp_path / "secret" / "data")
    outside = next(iter(made.files.values()))
    (results / "data" / "link.parquet").symlink_to(outside)
    (results / "linked").symlink_to(tmp_path / "secret")
    (results / "dangling.parquet").symlink_to(tmp_path / "nowhere.parquet")
    own = results / "half-run"
    own.mkdir()
    for name in ("run.json", "verdicts.jsonl"):
        (own / name).symlink_to(tmp_path / "secret" / "run" / name)
    store = opened(results)
    check_sound(store)
    assert store.submissions(Filters(search="secret")).total == 0
    assert sorted(store.facts().faults) == [
        "dangling.parquet: cannot be read: No such file or directory",
        "data/link.parquet: leads out of the folder",
        "half-run: leads out of the folder",
    ]
    # Ids are never paths.
    add(results, data=set_all(task="../../../etc"), submissions=set_all(task="../../../etc"))
    again = opened(results)
    check_sound(again)
    assert again.submission("../../etc", "passwd") is None


def test_damaged_run_folders(results: Path) -> None:
    for name, header, journal in (
        ("torn", json.dumps({"format": 1}), ""),
        ("newer", json.dumps({"format": 99}), ""),
        ("noise", "\x00\x01", "\x00"),
        ("empty", json.dumps({"format": 1, **HEADER}), ""),
        ("lines", json.dumps({"format": 1, **HEADER}), "{}\n{}\n"),
    ):
        (results / name).mkdir()
        (results / name / "run.json").write_text(header)
        (results / name / "verdicts.jsonl").write_text(journal)
    store = opened(results)
    check_sound(store)
    faults = dict(line.split(": ", 1) for line in store.facts().faults)
    assert sorted(faults) == ["empty", "lines", "newer", "noise", "torn"]
    assert faults["empty"] == "the run has no results yet"
    assert faults["newer"] == "has format 99"


def test_files_that_vanish(results: Path) -> None:
    add(results)
    store = opened(results)
    [row] = store.submissions(Filters(search="evil")).rows.to_dicts()
    for path in (results / "submissions").iterdir():
        path.unlink()
    detail = store.submission(row["run"], "evil")
    assert detail is not None
    assert (detail.evidence, detail.notes) == (False, ("the file with the evidence cannot be read any more",))
    assert [f"{item.gate}.{item.code}" for item in detail.verdicts if item.findings] == ["EXC-01.absorbed"]
    assert store.refresh() is True
    every_view(store)


def test_many_faults_are_counted(results: Path) -> None:
    for number in range(150):
        (results / f"{number}.parquet").write_bytes(b"nothing")
    faults = opened(results).facts().faults
    assert (len(faults), faults[-1]) == (101, "and 50 more")
