"""How long the command line takes to start.

Best and median of repeated runs, and the least processor time, which load from elsewhere moves less. The target is under 300 ms
for ``kcbench --help`` and ``kcbench tasks list``, and under 50 ms for ``import kcbench`` on top of Python itself.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import kcbench": [sys.executable, "-c", "import kcbench"],
    "kcbench --help": [sys.executable, "-m", "kcbench", "--help"],
    "kcbench tasks list": [sys.executable, "-m", "kcbench", "tasks", "list"],
    "kcbench tasks show": [sys.executable, "-m", "kcbench", "tasks", "show", "level1/softmax"],
    "kcbench eval --help": [sys.executable, "-m", "kcbench", "eval", "--help"],
}


def measure(command: list[str], repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each run by the wall clock and of the processor, after one run that fills the caches."""
    wall, processor = [], []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall.append(1000 * (time.perf_counter() - start))
        processor.append(1000 * (usage.ru_utime + usage.ru_stime))
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
    return wall[1:], processor[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long kcbench takes to start.")
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    print(f"{'milliseconds':<22}{'best':>8}{'median':>8}{'processor':>11}")
    for name, command in COMMANDS.items():
        wall, processor = measure(command, repeats)
        print(f"{name:<22}{min(wall):8.0f}{statistics.median(wall):8.0f}{min(processor):11.0f}")


if __name__ == "__main__":
    main()
