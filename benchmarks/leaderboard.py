"""How long a reader of the leaderboard waits, in a real Chromium.

For one source: seconds from the start of ``kcbench leaderboard`` to its first answer, once with empty caches, when aggregates are
made, and once with them (a call with ``--work`` leaves them to the next); milliseconds to the first contentful and the largest
contentful paint of the board, and from a change of a filter to the frame that shows it, in each view; the server's memory at the
end. The targets are 3 s on the sample and 6 s on a million submissions with aggregates, 2 s to the first paint, 300 ms (median)
for a filter, and 2 GiB.

``--rows 1000000`` makes synthetic results of that many submissions first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

VIEWS = ("/", "/gap", "/gates", "/submissions", "/tasks", "/compare", "/speed")
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
PAINTS = """() => new Promise((done) => {
  const found = {};
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) found[entry.name || entry.entryType] = entry.startTime;
  }).observe({type: 'paint', buffered: true});
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) found.largest = entry.startTime;
  }).observe({type: 'largest-contentful-paint', buffered: true});
  setTimeout(() => done(found), 500);
})"""
CHANGE = """(id) => new Promise((done) => {
  const start = performance.now();
  const shown = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  document.body.addEventListener('kcbench:shown', shown, {once: true});
  document.getElementById(id).click();
})"""


def start(results: Path | None, cache: Path) -> tuple[subprocess.Popen[str], str, float]:
    """Start the command: its process, its address, and the seconds until it answered."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "kcbench", "leaderboard", "--port", "0", *(["--results", str(results)] if results else [])]
    environment = {**os.environ, "KCBENCH_CACHE": str(cache), "NO_PROXY": "127.0.0.1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split()[0].rstrip("/")
    urllib.request.urlopen(f"{url}/", timeout=60).read()
    return process, url, time.perf_counter() - began


def paint(browser: Any, url: str, repeats: int) -> list[dict[str, float]]:
    """First and largest contentful paint of the board, in milliseconds, with an empty browser cache each time."""
    found = []
    for _ in range(repeats):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(f"{url}/")
        found.append(page.evaluate(PAINTS))
        context.close()
    return found


def changes(browser: Any, url: str, view: str, repeats: int) -> list[float]:
    """Milliseconds of filter changes in a view: each value of the first menus is chosen, and left again."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url + view)
    boxes = [box.get_attribute("id") for box in page.locator("#filters input[type=checkbox]").all()[: repeats // 2]]
    # A second tick of the same box would be answered from what is kept, so each box is ticked in turn and none taken back before.
    taken = [page.evaluate(CHANGE, box) for box in boxes]
    taken += [page.evaluate(CHANGE, box) for box in boxes]
    page.close()
    return taken


def memory(process: subprocess.Popen[str]) -> float:
    """The largest resident memory that the server had, in MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024


def synthetic(rows: int, folder: Path) -> Path:
    """Results of so many submissions."""
    out = folder / "synthetic"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "kcbench.leaderboard.synthetic", "--rows", str(rows), "--out", str(out)], check=True)
    print(f"made {rows:,} synthetic submissions in {time.perf_counter() - began:.1f} s")
    return out


def measure(results: Path | None, cache: Path, repeats: int) -> None:
    from playwright.sync_api import sync_playwright

    process, _, cold = start(results, cache)
    process.terminate()
    process.wait()
    process, url, warm = start(results, cache)
    try:
        print(f"start to first answer     {cold:8.2f} s the first time, {warm:.2f} s the second")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            paints = paint(browser, url, 5)
            for name in ("first-contentful-paint", "largest"):
                times = [item[name] for item in paints if name in item]
                print(f"{name:<26}{statistics.median(times):8.0f} ms median of {len(times)}, {max(times):.0f} at most")
            everything = []
            for view in VIEWS:
                taken = changes(browser, url, view, repeats)
                everything += taken
                print(f"filter in {view:<16}{statistics.median(taken):8.0f} ms median of {len(taken)}, {max(taken):.0f} at most")
            print(f"filter, all views         {statistics.median(everything):8.0f} ms median of {len(everything)}")
            browser.close()
        print(f"memory of the server      {memory(process):8.0f} MiB")
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long a reader of the leaderboard waits.")
    parser.add_argument("--results", type=Path, help="a folder of results; the sample if not given")
    parser.add_argument("--rows", type=int, help="make synthetic results of so many submissions")
    parser.add_argument("--repeats", type=int, default=20, help="filter changes in each view")
    parser.add_argument("--work", type=Path, help="folder for results and caches; a temporary one if not given")
    asked = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("there is no Chromium on this machine: apt-get install chromium")
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.work or Path(scratch)
        results = synthetic(asked.rows, work) if asked.rows else asked.results
        measure(results, work / "cache", asked.repeats)


if __name__ == "__main__":
    main()
