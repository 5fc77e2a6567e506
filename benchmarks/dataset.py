"""What the dataset costs: seconds to build all Parquet files, and to load one level with ``datasets``.

    python benchmarks/dataset.py [--tasks N] [--root DIR] [--repeats N]

With ``--tasks`` the tasks that there are are copied under other names until there are that many. Loading is timed in a process of
its own that has imported ``datasets``, with an empty cache each time and once more with the cache that the first call left. The
targets are 60 s to build 300 tasks, and 1 s to load a level.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kcbench.hub.build import build
from kcbench.hub.manifest import Manifest
from kcbench.paths import data_root
from kcbench.tasks import list_tasks

LOAD = """
import sys, time
from datasets import load_dataset

start = time.perf_counter()
rows = load_dataset(sys.argv[1], sys.argv[2], split="test").num_rows
print(rows, time.perf_counter() - start)
"""


def many_tasks(origin: Path, root: Path, wanted: int) -> Path:
    """A data root with copies of the tasks of another, under other names."""
    names = list_tasks(origin)
    for number in range(wanted):
        level, _, name = names[number % len(names)].partition("/")
        copy = f"{level}/{number:04}_{name}"
        shutil.copytree(origin / "tasks" / level / name, root / "tasks" / copy)
        contract = root / "tasks" / copy / "contract.json"
        data = {**json.loads(contract.read_text("utf-8")), "task": copy}
        contract.write_text(json.dumps(data, indent=2), encoding="utf-8")
        (root / "references" / level).mkdir(parents=True, exist_ok=True)
        shutil.copy(origin / "references" / level / f"{name}.py", root / "references" / f"{copy}.py")
    return root


def load_seconds(folder: Path, config: str, home: Path) -> float:
    """Seconds that ``load_dataset`` takes in a new process, after the import."""
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    command = [sys.executable, "-c", LOAD, str(folder), config]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure building and loading the dataset.")
    parser.add_argument("--tasks", type=int, default=0, help="build this many, by copying; by default those that there are")
    parser.add_argument("--root", type=Path, default=data_root(), help="folder with tasks/ and references/")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        root = many_tasks(args.root, scratch / "root", args.tasks) if args.tasks else args.root
        times = []
        for _ in range(args.repeats):
            start = time.perf_counter()
            build(scratch / "dataset", root=root)
            times.append(time.perf_counter() - start)
        manifest = Manifest.read(scratch / "dataset")
        size = sum(path.stat().st_size for path in (scratch / "dataset").rglob("*") if path.is_file())
        print(f"build: {manifest.configs['all']} tasks, {size / 1e6:.2f} MB")
        print(f"  first {times[0]:.2f} s, median {statistics.median(times):.2f} s")
        for config, rows in manifest.configs.items():
            cold = [load_seconds(scratch / "dataset", config, scratch / f"{config}-{turn}") for turn in range(args.repeats)]
            warm = load_seconds(scratch / "dataset", config, scratch / f"{config}-0")
            print(f"load {config}: {rows} rows, median {statistics.median(cold):.3f} s, from the cache {warm:.3f} s")


if __name__ == "__main__":
    main()
