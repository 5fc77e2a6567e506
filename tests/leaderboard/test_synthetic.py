"""Synthetic results: in the form of real ones, labelled, and shown only where there is nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from kcbench.domain.schema import validate
from kcbench.hub.columns import RESULTS, SUBMISSIONS
from kcbench.hub.parquet import digest, read
from kcbench.hub.results import FOLDERS, write_run
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.index import SYNTHETIC
from kcbench.leaderboard.store import Store
from kcbench.leaderboard.synthetic import write_synthetic
from kcbench.report.gap import Table
from kcbench.report.store import RunFolder
from tests.report.conftest import HEADER, result

ROWS = 400


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    command = [sys.executable, "-m", "kcbench.leaderboard.synthetic", "--rows", str(ROWS), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"2 files in {out}\n"
    return out


def test_rows_are_valid_and_labelled(made: Path, tmp_path: Path) -> None:
    for table in (RESULTS, SUBMISSIONS):
        [path] = (made / FOLDERS[table]).iterdir()
        rows = read(path, table)
        for row in rows:
            validate(row, table, source="row")
        assert all(row["author"].startswith("synthetic-") for row in rows)
        if table == RESULTS:
            assert {row["dataset"] for row in rows} == {SYNTHETIC}
    again = write_synthetic(tmp_path / "again", ROWS)
    assert [digest(path) for path in again] == [digest(made / path.relative_to(tmp_path / "again")) for path in again]


def test_alone_they_are_shown_as_what_they_are(made: Path, tmp_path: Path) -> None:
    store = Store.open(made, tmp_path)
    facts = store.facts()
    assert (facts.submissions, facts.synthetic, facts.faults) == (ROWS, True, ())
    gap = store.gap(Filters()).gap
    assert gap.table.accepted_refused > 0
    assert gap.errors + gap.skipped < 0.1 * ROWS
    assert store.speed(Filters()).timed > ROWS / 2
    row = store.submissions(Filters(), outcome="refused").rows.row(0, named=True)
    detail = store.submission(row["run"], row["submission"])
    assert detail is not None
    codes = [f"{verdict.gate}.{finding.code}" for verdict in detail.verdicts for finding in verdict.findings]
    assert codes == row["codes"]


def test_beside_real_ones_they_are_left_out(made: Path, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", HEADER) as folder:
        folder.append(result("a", "CMP-01.value"))
    write_run(tmp_path / "run", tmp_path / "mixed")
    for table in FOLDERS.values():
        for path in (made / table).iterdir():
            (tmp_path / "mixed" / table / path.name).write_bytes(path.read_bytes())
    store = Store.open(tmp_path / "mixed", tmp_path / "cache")
    assert store.gap(Filters()).gap.table == Table(0, 1, 0, 0)
    facts = store.facts()
    assert (facts.submissions, facts.authors, facts.synthetic) == (1, 1, False)
    assert facts.faults[0] == f"{ROWS} synthetic submissions beside real ones: left out"


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kcbench.leaderboard.synthetic", "--rows", "0", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1].partition(": ")[2]) == (2, "error: --rows is at least 1")
