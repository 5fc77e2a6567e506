"""What a verdict costs: seconds per submission and per gate, from one run of the demo on this machine.

    python benchmarks/eval_cost.py [--device cpu|cuda] [--jobs N] [PATH ...]

Each submission is scored through its real worker. The oracle's share (truth, noise, eager behaviour) is paid by the first
submission of a task and shared by the others, so both the median and the first-of-task median are printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kcbench.engine import Event, Options, resolve_device, run
from kcbench.suites.folder import discover

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Score the paths given (default: the shipped submissions) and print where the time went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / "submissions"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()

    device = resolve_device(args.device)
    submissions = discover(args.paths)
    first_of_task: dict[str, str] = {}

    def note(event: Event) -> None:
        if event.kind == "started":
            first_of_task.setdefault(event.submission.task, event.submission.id)

    start = time.perf_counter()
    results = run(submissions, Options(seed="benchmark", device=device, jobs=args.jobs), on_event=note)
    wall = time.perf_counter() - start

    totals = {result.id: result.timings["total"] for result in results if "total" in result.timings}
    parts: dict[str, list[float]] = defaultdict(list)
    for result in results:
        for name, seconds in result.timings.items():
            parts[name].append(seconds)

    console = Console()
    table = Table("part", "median s", "max s", title=f"seconds per submission, {device}, {args.jobs} job(s)")
    for name, seconds in parts.items():
        table.add_row(name, f"{statistics.median(seconds):.3f}", f"{max(seconds):.3f}")
    console.print(table)
    firsts = [totals[item] for item in first_of_task.values() if item in totals]
    others = [seconds for item, seconds in totals.items() if item not in first_of_task.values()]
    console.print(f"{len(totals)} submissions, wall {wall:.1f} s, {wall / max(len(totals), 1):.2f} s each")
    console.print(f"median per submission {statistics.median(totals.values()):.2f} s, slowest {max(totals.values()):.2f} s")
    if firsts and others:
        console.print(f"median first of its task {statistics.median(firsts):.2f} s, later ones {statistics.median(others):.2f} s")


if __name__ == "__main__":
    main()
