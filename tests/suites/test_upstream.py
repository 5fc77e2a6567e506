"""KernelBench's own analysis script reads what kcbench writes, and finds the same figures.

Needs a checkout of KernelBench; its script runs as it is, with stand-ins for its option parser and its table printer only.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcbench.cli.reporting import write_reports
from kcbench.domain.result import Result
from kcbench.report.fast_p import CONTRACT, LEGACY, P_VALUES, Line, measure
from kcbench.report.store import RunFolder
from kcbench.suites.kernelbench import Problem, load_problems
from tests.report.suite_runs import HEADER, kernel, timing

CHECKOUT = Path(os.environ.get("KCBENCH_KERNELBENCH", ""))
pytestmark = pytest.mark.skipif(
    "KCBENCH_KERNELBENCH" not in os.environ, reason="needs KCBENCH_KERNELBENCH: the path of a checkout of KernelBench"
)

STAND_INS = {
    "pydra.py": "REQUIRED = None\n\n\nclass Config:\n    pass\n\n\ndef main(base):\n    return lambda function: function\n",
    "tabulate.py": "def tabulate(rows, headers=(), tablefmt=''):\n    return str(rows)\n",
}
DRIVER = """
import importlib.util, json, sys, types
checkout, runs, name, level, baseline, out = sys.argv[1:]
# Its package loads clients of language models at import; the modules that the script needs do not.
package = sys.modules["kernelbench"] = types.ModuleType("kernelbench")
package.__path__ = [checkout + "/src/kernelbench"]
spec = importlib.util.spec_from_file_location("analysis", checkout + "/scripts/benchmark_eval_analysis.py")
analysis = importlib.util.module_from_spec(spec)
spec.loader.exec_module(analysis)
found = analysis.analyze_greedy_eval(name, "any", "any", int(level), baseline_file=baseline, eval_results_dir=runs)
json.dump(found, open(out, "w"))
"""


def upstream(folder: Path, tmp_path: Path, *, level: int = 1, baseline: Path | None = None) -> dict[str, Any]:
    """What KernelBench's script says of a run folder."""
    for name, text in STAND_INS.items():
        (tmp_path / name).write_text(text)
    out = tmp_path / "analysis.json"
    (tmp_path / "driver.py").write_text(DRIVER)
    times = baseline or folder / "baseline_time_eager.json"
    done = subprocess.run(
        [sys.executable, tmp_path / "driver.py", CHECKOUT, folder.parent, folder.name, str(level), times, out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def honest_copy(folder: Path, tmp_path: Path) -> Path:
    """A folder in which the honest files have the names that the script looks for."""
    copy = tmp_path / "honest"
    copy.mkdir()
    for name in ("eval_results", "pass_at_k_results"):
        shutil.copy(folder / f"{name}_honest.json", copy / f"{name}.json")
    return copy


def make_run(folder: Path, results: list[Result]) -> dict[str, Line]:
    """A run folder with its reports, and the lines of its table."""
    with RunFolder.create(folder, HEADER) as run:
        for result in results:
            run.append(result)
        write_reports(run)
        scores = measure(run.results(), run.header)
    assert scores is not None
    return {line.judge: line for line in scores.lines}


@functools.cache
def suite() -> dict[tuple[int, int], Problem]:
    return load_problems(CHECKOUT)


def named(result: Result) -> Result:
    """The result under the task of the checkout's own problem, whose file name the script looks up."""
    origin = result.submission["origin"]
    task = suite()[origin["level"], origin["problem_id"]].task_id
    return Result.from_json({**result.to_json(), "submission": {**result.submission, "task": task}})


def some_kernel(problem: int, sample: int, draw: random.Random, *, untimed_is_wrong: bool = True) -> Result:
    """A kernel of any kind; a correct one has a time unless ``untimed_is_wrong`` is False."""
    kind = draw.random()
    if kind < 0.1:
        return named(kernel(problem, sample, legacy=None, status="unloadable", reason="the import failed: ImportError: x"))
    if kind < 0.15:
        return named(kernel(problem, sample, legacy=None, status="skipped", reason="the problem cannot be used"))
    time = timing(draw.uniform(0.1, 3), eager=draw.uniform(0.1, 3)) if draw.random() < 0.8 else None
    right = time is not None or not untimed_is_wrong
    return named(kernel(problem, sample, legacy=right and draw.random() < 0.7, clean=right and draw.random() < 0.5, time=time))


def compare(found: dict[str, Any], line: Line) -> None:
    assert [found["fast_p"][str(p)] for p in P_VALUES] == pytest.approx([share for share in line.shares if share is not None])
    assert found["geo_mean_speedup"] == pytest.approx(line.mean or 0.0)
    assert found["correct_count"] == line.correct


@pytest.mark.parametrize(("problems", "seed"), [(100, 1), (100, 2), (37, 3), (1, 4)])
def test_the_script_finds_the_same_figures(problems: int, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    chosen = draw.sample(range(1, 101), problems)
    results = [some_kernel(problem, sample, draw) for problem in chosen for sample in range(draw.randint(1, 3))]
    lines = make_run(tmp_path / "run", results)
    compare(upstream(tmp_path / "run", tmp_path), lines[LEGACY])
    compare(
        upstream(honest_copy(tmp_path / "run", tmp_path), tmp_path, baseline=tmp_path / "run/baseline_time_eager.json"),
        lines[CONTRACT],
    )
    assert lines[LEGACY].kernels == problems


def test_the_script_reads_one_level_of_several(tmp_path: Path) -> None:
    draw = random.Random(5)
    results = [some_kernel(problem, 0, draw) for problem in range(1, 101)]
    results += [named(kernel(problem, level=2, time=timing(1.0, eager=problem / 50))) for problem in range(1, 101)]
    make_run(tmp_path / "run", results)
    found = upstream(tmp_path / "run" / "level_2", tmp_path, level=2, baseline=tmp_path / "run/baseline_time_eager.json")
    assert found["fast_p"]["1.0"] == 0.5
    assert found["pass_at_k"]["averages"] == {"avg_pass@1": 1.0}


def test_what_was_correct_and_not_timed_is_where_the_script_differs(tmp_path: Path) -> None:
    """There, upstream has a time of -1: the kernel misses even fast_0. Here it counts as correct, and for nothing above."""
    draw = random.Random(6)
    results = [some_kernel(problem, 0, draw, untimed_is_wrong=False) for problem in range(1, 101)]
    line = make_run(tmp_path / "run", results)[LEGACY]
    found = upstream(tmp_path / "run", tmp_path)["fast_p"]
    assert [found[str(p)] for p in P_VALUES[1:]] == pytest.approx([share for share in line.shares[1:] if share is not None])
    assert line.correct > line.timed
    assert line.shares[0] == pytest.approx(found["0.0"] + (line.correct - line.timed) / 100)


def test_the_script_s_estimate_of_pass_at_k(tmp_path: Path) -> None:
    """Its formula, where no k is above the number of samples (there it takes another k)."""
    results = [named(kernel(problem, sample, legacy=sample < problem)) for problem in range(1, 4) for sample in range(5)]
    make_run(tmp_path / "run", results)
    code = (
        "import ast, json, sys\nimport numpy as np\n"
        "tree = ast.parse(open(sys.argv[1]).read())\n"
        "(node,) = [node for node in tree.body if getattr(node, 'name', '') == 'calc_pass_at_k']\n"
        "exec(compile(ast.Module([node], []), 'upstream', 'exec'))\n"
        "print(json.dumps([[calc_pass_at_k(5, c, k) for k in (1, 2, 5)] for c in (1, 2, 3)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, CHECKOUT / "scripts/eval_from_generations.py"], capture_output=True, text=True, check=True
    )
    mine = json.loads((tmp_path / "run" / "pass_at_k_results.json").read_text())["problems"]
    for row, problem in zip(json.loads(done.stdout), ("1", "2", "3"), strict=True):
        assert [mine[problem][f"pass@{k}"] for k in (1, 2, 5)] == pytest.approx(row)
