"""The run folder and its journal: nothing that was finished is lost, and nothing that was not is believed."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.verdict import ERROR, FAIL, STATUSES, Finding, Verdict
from kcbench.errors import KcbenchError
from kcbench.report import journal
from kcbench.report.store import JOURNAL, RunFolder, repro_name

Make = Callable[..., Result]


def test_what_is_appended_can_be_read(tmp_path: Path, sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    with RunFolder.create(tmp_path / "deep" / "run", header) as folder:
        for item in sample:
            folder.append(item)
        assert [item.id for item in folder.results()] == sorted(item.id for item in sample)
    again = RunFolder.open(tmp_path / "deep" / "run")
    assert again.results() == tuple(sorted(sample, key=lambda item: item.id))
    assert again.header == header
    assert again.torn == 0


def test_harness_failures_are_not_complete(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    whole, part, good = make("a", status="error"), make("b", statuses={"EXC-02": ERROR}), make("c")
    with RunFolder.create(tmp_path, header) as folder:
        for item in (whole, part, good):
            folder.append(item)
        assert folder.completed_keys() == {"key-c"}
        folder.append(make("a"))
        assert folder.completed_keys() == {"key-a", "key-c"}
        assert folder.result("a").clean
    assert RunFolder.open(tmp_path).result("a").clean


def test_the_first_of_equal_keys_wins(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    first, second = make("a"), replace(make("a", "CMP-01.value"), key="key-a")
    with RunFolder.create(tmp_path, header) as folder:
        folder.append(first)
        folder.append(second)
    assert (tmp_path / JOURNAL).read_bytes().count(b"\n") == 1
    with (tmp_path / JOURNAL).open("ab") as stream:  # written by hand, or by an older version
        stream.write(journal.encode(second))
    assert RunFolder.open(tmp_path).results() == (first,)


def test_the_latest_result_of_a_changed_submission_counts(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    old, new = make("a", "CMP-01.value"), replace(make("a"), key="another")
    with RunFolder.create(tmp_path, header) as folder:
        folder.append(old)
        folder.append(new)
        assert folder.results() == (new,)
        assert folder.completed_keys() == {"key-a", "another"}


@pytest.mark.parametrize("cut", [1, 2, 40, 300])
def test_a_torn_last_line_is_dropped_and_reported(tmp_path: Path, make: Make, header: dict[str, Any], cut: int) -> None:
    with RunFolder.create(tmp_path, header) as folder:
        folder.append(make("a"))
        whole = (tmp_path / JOURNAL).stat().st_size
        folder.append(make("b"))
    size = (tmp_path / JOURNAL).stat().st_size
    os.truncate(tmp_path / JOURNAL, size - cut)
    reader = RunFolder.open(tmp_path)
    assert (reader.torn, [item.id for item in reader.results()]) == (size - cut - whole, ["a"])
    assert (tmp_path / JOURNAL).stat().st_size == size - cut, "a reader must not repair"
    with RunFolder.create(tmp_path, header) as folder:
        assert folder.torn == size - cut - whole
        folder.append(make("b"))
        folder.append(make("c"))
    assert [item.id for item in RunFolder.open(tmp_path).results()] == ["a", "b", "c"]


def test_a_block_of_zeros_after_a_power_cut_is_torn(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    with RunFolder.create(tmp_path, header) as folder:
        folder.append(make("a"))
    with (tmp_path / JOURNAL).open("ab") as stream:
        stream.write(b"\0" * 100)
    with RunFolder.create(tmp_path, header) as folder:
        assert (folder.torn, len(folder.results())) == (100, 1)


def test_damage_in_the_middle_is_an_error(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    with RunFolder.create(tmp_path, header) as folder:
        folder.append(make("a"))
        folder.append(make("b"))
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_bytes(b"{}\n" + lines[1])
    with pytest.raises(KcbenchError, match="line 1 is damaged"):
        RunFolder.open(tmp_path)


WRITER = """
import json
import sys
from dataclasses import replace
from kcbench.report import journal
from kcbench.report.store import RunFolder
line, folder = sys.argv[1:]
result = journal.decode(open(line, "rb").read())
with RunFolder.create(folder, json.load(open(folder + "/run.json"))) as run:
    print("ready", flush=True)
    for number in range(10**6):
        run.append(replace(result, key=f"k{number}", submission={**result.submission, "id": f"s{number}"}))
        print(number, flush=True)
"""


def start_writer(tmp_path: Path, make: Make, header: dict[str, Any], code: str = WRITER) -> subprocess.Popen[str]:
    with RunFolder.create(tmp_path / "run", header):
        pass
    (tmp_path / "line").write_bytes(journal.encode(make("a", "CMP-01.value")))
    root = str(Path(journal.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    command = [sys.executable, "-c", code, str(tmp_path / "line"), str(tmp_path / "run")]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_kill_while_appending_loses_nothing_that_was_finished(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    for seconds in (0.05, 0.2):
        process = start_writer(tmp_path, make, header)
        with process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            finished = process.stdout.read().split()
        assert process.returncode == -signal.SIGKILL
        with RunFolder.create(tmp_path / "run", header) as folder:  # the lock went with the process
            seen = sorted(int(key.removeprefix("k")) for key in folder.completed_keys())
            assert seen == list(range(len(seen)))
            assert len(seen) >= len(finished)
            # The kernel may end a write between two pages: what is left of its line is dropped.
            assert folder.torn < len((tmp_path / "line").read_bytes()) + 16
        assert (tmp_path / "run" / "verdicts.jsonl").read_bytes().count(b"\n") == len(seen)
    assert finished


def test_two_runs_cannot_write_one_folder(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    code = WRITER.replace("for number in range(10**6):", "sys.stdin.read()\n    for number in ():")
    with start_writer(tmp_path, make, header, code) as process:
        with pytest.raises(KcbenchError, match=rf"another run is writing this folder \(process {process.pid}\)"):
            RunFolder.create(tmp_path / "run", header)
        assert RunFolder.open(tmp_path / "run").results() == ()
        process.kill()
    with RunFolder.create(tmp_path / "run", header):
        with pytest.raises(KcbenchError, match="this process is writing the run folder already"):
            RunFolder.create(tmp_path / "run", header)
        with pytest.raises(KcbenchError, match="this process is writing the run folder already"):
            RunFolder.create(tmp_path / "run", header)
    RunFolder.create(tmp_path / "run", header).close()


def test_a_fork_does_not_hold_the_lock(tmp_path: Path, header: dict[str, Any]) -> None:
    code = """
import json, os, sys, time
from kcbench.report.store import RunFolder
run = RunFolder.create(sys.argv[2], json.load(open(sys.argv[2] + "/run.json")))
if os.fork() == 0:
    os.close(1)
    time.sleep(60)
print("ready", flush=True)
os._exit(0)
"""
    (tmp_path / "line").touch()
    with RunFolder.create(tmp_path / "run", header):
        pass
    command = [sys.executable, "-c", code, "", str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(Path(journal.__file__).parents[2])}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        with process:
            assert process.communicate()[0] == "ready\n"
        RunFolder.create(tmp_path / "run", header).close()
    finally:
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", 8), ("bounds", "classic"), ("device", {"kind": "cuda", "name": "a GPU"}), ("kcbench_version", "9.9.9")],
)
def test_a_folder_of_another_run_is_refused(tmp_path: Path, header: dict[str, Any], name: str, value: Any) -> None:
    RunFolder.create(tmp_path, header).close()
    with pytest.raises(KcbenchError, match=f"holds a run with {name}"):
        RunFolder.create(tmp_path, {**header, name: value})
    RunFolder.create(tmp_path, {**header, "created": "2026-02-02T00:00:00Z", "jobs": 4}).close()
    assert RunFolder.open(tmp_path).header["jobs"] == 2, "the first header stays"


def test_another_format_version_is_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    RunFolder.create(tmp_path, header).close()
    (tmp_path / "run.json").write_text(json.dumps({**header, "format": 2}))
    for action in (lambda: RunFolder.open(tmp_path), lambda: RunFolder.create(tmp_path, header)):
        with pytest.raises(KcbenchError, match="has format 2"):
            action()


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "has format None"), (None, "is not a run folder")])
def test_a_folder_without_a_good_header_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(KcbenchError, match=message):
        RunFolder.open(tmp_path)


def test_a_bad_header_is_not_written(tmp_path: Path, header: dict[str, Any]) -> None:
    with pytest.raises(KcbenchError):
        RunFolder.create(tmp_path / "run", {**header, "bounds": "odd"})
    assert not (tmp_path / "run").exists()


def test_a_journal_without_a_header_is_left_alone(tmp_path: Path, header: dict[str, Any]) -> None:
    (tmp_path / JOURNAL).write_text("precious\n")
    with pytest.raises(KcbenchError, match=r"has a verdicts.jsonl and no run.json"):
        RunFolder.create(tmp_path, header)
    assert (tmp_path / JOURNAL).read_text() == "precious\n"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, header: dict[str, Any]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KcbenchError, match="cannot be written"):
        RunFolder.create(tmp_path / "file" / "run", header)
    with pytest.raises(KcbenchError, match="cannot be written"):
        RunFolder.create("/proc/nowhere", header)


def test_a_full_disk_takes_back_what_it_wrote(
    tmp_path: Path, make: Make, header: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with RunFolder.create(tmp_path, header) as folder:
        folder.append(make("a"))
        monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
        with pytest.raises(KcbenchError, match="the disk is full"):
            folder.append(make("b"))
        monkeypatch.undo()
        assert folder.completed_keys() == {"key-a"}
        folder.append(make("b"))
    again = RunFolder.open(tmp_path)
    assert (again.torn, again.completed_keys()) == (0, {"key-a", "key-b"})


def test_a_reader_cannot_append(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    RunFolder.create(tmp_path, header).close()
    with pytest.raises(KcbenchError, match="open for reading"):
        RunFolder.open(tmp_path).append(make("a"))


def test_an_unknown_submission_is_named_with_its_neighbours(tmp_path: Path, make: Make, header: dict[str, Any]) -> None:
    with RunFolder.create(tmp_path, header) as folder:
        folder.append(make("agent/softmax_1"))
        with pytest.raises(KcbenchError, match=r"no submission 'softmax' in this run \(did you mean agent/softmax_1\?\)"):
            folder.result("softmax")


def test_texts_are_written_as_a_whole(tmp_path: Path, header: dict[str, Any]) -> None:
    with RunFolder.create(tmp_path, header) as folder:
        path = folder.write(repro_name("agent/a b", "CMP-01"), "x = '\udc80'\n")
        assert path == tmp_path / "repro" / "agent__a-b-CMP-01.py"
        assert path.read_text() == "x = '?'\n"
    assert sorted(item.name for item in tmp_path.iterdir()) == [".lock", "repro", "run.json"]


def test_ids_cannot_leave_the_folder() -> None:
    assert repro_name("../../etc/passwd", "GUARD") == "repro/__..__etc__passwd-GUARD.py"
    assert "/" not in repro_name("/a/../b", "../x").removeprefix("repro/")


# --- lines

numbers = st.floats(allow_nan=True) | st.integers(-(2**70), 2**70) | st.booleans() | st.none()
words = st.text(st.characters(codec=None), max_size=20)
trees = st.recursive(
    numbers | words, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=8
)
facts = st.dictionaries(words, trees, max_size=4)
findings = st.builds(Finding, words, words, st.booleans(), st.lists(words, max_size=3).map(tuple), facts)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    status = draw(st.sampled_from(STATUSES))
    found = tuple(draw(st.lists(findings, min_size=1, max_size=3))) if status == FAIL else ()
    return Verdict(
        draw(words), status, found, draw(words), draw(st.integers(0, 99)), tuple(draw(st.lists(words, max_size=2))), draw(facts)
    )


scores = st.builds(
    LegacyScore, words, st.booleans(), st.booleans(), words, st.lists(st.floats(), max_size=3).map(tuple), words, words
)
results = st.builds(
    Result,
    words,
    facts,
    st.sampled_from(["scored", "unloadable", "error"]),
    words,
    st.lists(scores, max_size=2).map(tuple),
    st.lists(verdicts(), max_size=3).map(tuple),
    st.lists(words, max_size=2).map(tuple),
    facts,
    st.dictionaries(words, st.floats(0, 1e6), max_size=3),
)


@settings(max_examples=60, deadline=None)
@given(results)
def test_any_result_survives_its_line(result: Result) -> None:
    line = journal.encode(result)
    assert line.count(b"\n") == 1 and line.isascii()
    json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    again = journal.decode(line)
    assert journal.encode(again) == line
    assert again.key == result.key
    assert again.to_json()["verdicts"] == journal.plain(result.to_json()["verdicts"])
    assert repr([score.max_difference for score in again.legacy]) == repr([score.max_difference for score in result.legacy])


def test_numbers_that_json_cannot_hold_become_words(make: Make) -> None:
    class Scalar:
        def item(self) -> float:
            return math.inf

    strange = {"nan": math.nan, "inf": Scalar(), "tuple": (1, 2), "path": Path("/x"), "minus": -math.inf}
    again = journal.decode(journal.encode(make("a", environment=strange)))
    assert again.environment == {"nan": "nan", "inf": "inf", "tuple": [1, 2], "path": "/x", "minus": "-inf"}
