"""Pages over results that are hostile, broken, empty, or changing while somebody looks at them."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gradio")
pytest.importorskip("playwright")

import httpx
import yaml
from playwright.sync_api import expect

from kcbench.domain.timing import Stats, Timing
from kcbench.domain.verdict import Finding, Verdict
from kcbench.report.store import RunFolder
from tests.leaderboard.serving import Watched, browsing, needs_browser, serving
from tests.report.conftest import HEADER, result

SCRIPT = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\x1b[2J\u202e"
LONG = "x" * (10 << 20)
VIEWS = ("/", "/gap", "/gates", "/submissions", "/tasks", "/compare", "/speed", "/submit", "/about")

in_browser = [pytest.mark.slow, pytest.mark.xdist_group("browser"), needs_browser]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as running:
        yield running


def hostile_run(folder: Path) -> Path:
    """A run with script in every text that a submitter chooses."""
    header = {
        **HEADER,
        "device": {"kind": "cuda", "name": SCRIPT},
        "versions": {**HEADER["versions"], SCRIPT: SCRIPT},
        "kcbench_version": SCRIPT,
        "seed": SCRIPT,
        "command": [SCRIPT],
        "tasks": {SCRIPT: "0" * 64},
    }
    facts = {"task": SCRIPT, "author": SCRIPT, "entry": SCRIPT, "language": "triton", "path": SCRIPT}
    evidence = {
        "kind": "value",
        "probe": SCRIPT,
        SCRIPT: SCRIPT,
        "index": [0],
        "expected": float("nan"),
        "got": "inf",
        "ratio": "nan",
    }
    nan = Stats(float("nan"), float("nan"), 0.0, float("inf"), 0.0, 1)
    timing = Timing(**vars(nan), baselines={SCRIPT: nan, "eager": nan}, flags=(SCRIPT,), device=SCRIPT, size=SCRIPT)
    base = result(SCRIPT, "PRC-01.tf32", facts=facts)
    known = Finding("tf32", SCRIPT, True, (SCRIPT,), evidence)
    verdicts = (
        *(item for item in base.verdicts if item.gate != "PRC-01"),
        Verdict("PRC-01", "FAIL", (known,), notes=(SCRIPT,)),
        Verdict("ZZZ-99", "NOT_APPLICABLE", reason=SCRIPT),
    )
    environment = {"device": SCRIPT, SCRIPT: SCRIPT}
    with RunFolder.create(folder, header) as made:
        made.append(dataclasses.replace(base, verdicts=verdicts, labels=(SCRIPT,), environment=environment, timing=timing))
        worse = Verdict(SCRIPT, "FAIL", (Finding(SCRIPT, SCRIPT, True, (SCRIPT,), evidence),))
        made.append(dataclasses.replace(result("worse"), verdicts=(worse,)))
        made.append(result("long", status="error", reason=LONG, facts={"author": SCRIPT}))
    return folder


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@needs_browser
def test_no_text_of_a_submission_is_markup(browser: Any, tmp_path: Path) -> None:
    hostile_run(tmp_path / "results" / "run")
    (tmp_path / "results" / "half.parquet").write_bytes(b"PAR1" + b"\0" * 100)
    (tmp_path / "results" / "other.parquet").symlink_to("/etc/passwd")
    with serving("--results", tmp_path / "results", cache=tmp_path / "cache") as url:
        window = Watched(browser, url)
        seen = ""
        for path in VIEWS:
            assert window.go(path).status == 200, path
            assert window.page.locator("main script, main img, main iframe").count() == 0
            seen += window.page.locator("main").inner_text()
        assert "<script>alert(1)</script>" in seen  # As the text that it is.
        assert "\x1b" not in seen and "\u202e" not in seen
        window.go("/submissions")
        window.page.locator("#faults > summary").click()
        faults = window.page.locator("#faults").inner_text()
        assert "half.parquet" in faults and "set aside" in faults
        window.shown(window.page.locator("main tbody th a", has_text="script").first.click)
        text = window.page.locator("main").inner_text()
        assert "ZZZ-99" in text and "NaN" in text
        assert len(window.page.content()) < 2_000_000
        window.go("/submissions?outcome=error")
        window.shown(window.page.locator("main tbody th a", has_text="long").click)
        assert len(window.page.content()) < 1_000_000  # Ten megabytes of log were cut.
        window.close()
    assert "Traceback" not in (tmp_path / "cache" / "stderr").read_text()


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@needs_browser
def test_an_empty_folder_fills_before_the_readers_eyes(browser: Any, tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    with serving("--results", results, cache=tmp_path / "cache") as url:
        window = Watched(browser, url)
        for path in VIEWS:
            assert window.go(path).status == 200, path
        window.go("/")
        assert window.page.locator(".none h2").inner_text() == "No results yet"
        with RunFolder.create(results / "run", HEADER) as folder:
            folder.append(result("a", "PRC-01.tf32"))
        for _ in range(60):  # What a page asks by itself every fifteen seconds, and when it comes to the front.
            window.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            window.page.wait_for_timeout(250)
            if window.page.locator(".tiles").count():
                break
        expect(window.page.locator(".tile.gap-tile .at")).to_contain_text("100")
        with RunFolder.create(results / "run", HEADER) as folder:
            folder.append(result("b"))
        for _ in range(60):
            window.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            window.page.wait_for_timeout(250)
            if "50" in window.page.locator(".tile.gap-tile .at").inner_text():
                break
        expect(window.page.locator(".tile.gap-tile .at")).to_contain_text("50")
        window.close()


def command(*arguments: object, cache: Path) -> tuple[int, str]:
    """Exit code and last line of the command."""
    environment = {**os.environ, "KCBENCH_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-m", "kcbench", "leaderboard", *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stderr.strip()


def test_what_cannot_be_shown_is_said_in_one_line(tmp_path: Path) -> None:
    code, said = command("--results", tmp_path / "nowhere", cache=tmp_path)
    assert code == 2
    assert said.startswith("error: ") and "nowhere" in said and said.count("\n") == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = command("--port", port, cache=tmp_path)
    assert code == 2
    assert said.startswith(
        f"error: 127.0.0.1:{port}: cannot be listened at: Address already in use (choose another one with --port"
    )
    code, said = command("--repo", "no/good/name", cache=tmp_path)
    assert code == 2
    assert "is not the name of a dataset on the Hub" in said


def test_the_space_starts_as_it_stands(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "leaderboard"
    assert {path.name for path in folder.iterdir() if path.is_file()} == {"README.md", "app.py", "requirements.txt"}
    facts = yaml.safe_load((folder / "README.md").read_text().split("---")[1])
    assert (facts["sdk"], facts["app_file"]) == ("gradio", "app.py")
    assert facts["sdk_version"].startswith("6.")
    assert len(facts["short_description"]) <= 60  # The Hub refuses longer ones.
    environment = {**os.environ, "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": "0", "KCBENCH_CACHE": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "app.py"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert "Which kernels hold?" in httpx.get(url, timeout=60).text
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()  # type: ignore[union-attr]
