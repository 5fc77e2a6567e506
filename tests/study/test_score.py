"""Scoring here gives the verdict codes that the engine gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kcbench.domain.verdict import FAIL, PASS, Verdict  # noqa: E402
from kcbench.engine import Options, run  # noqa: E402
from kcbench.errors import KcbenchError  # noqa: E402
from kcbench.oracle.oracle import TaskOracle  # noqa: E402
from kcbench.redteam import load_catalog  # noqa: E402
from kcbench.study import score_here  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

ROOT = Path(__file__).parents[2]
SEED = "score"
ENTRIES = {entry.id: entry for entry in load_catalog()}
TORCH = (
    "honest/level1_relu/custom_backward",
    "honest/level1_rmsnorm/einsum",
    "broken/nan_to_num/level1_relu",
    "broken/mutates_input/level1_relu",
    "broken/returns_input/level1_relu",
    "broken/ignores_parameter/level1_rmsnorm",
    "broken/grad_wrong_kernel/level1_softmax",
)
TRITON = ("honest/level1_relu/triton_select", "broken/nan_to_num/level1_relu_triton")

SCRIPT = """
import json, sys
from kcbench.oracle.oracle import TaskOracle
from kcbench.study import score_here
from kcbench.tasks import load_task
found, seed = {}, sys.argv[1]
for name, (source, task) in json.load(sys.stdin).items():
    task = load_task(task)
    verdicts = score_here(source, task, TaskOracle(task, seed=seed), interpreted=True)
    found[name] = [verdict.to_json() for verdict in verdicts]
import torch
print(json.dumps([found, torch.zeros(1).is_cuda]))
"""


@pytest.fixture(scope="module")
def engine() -> dict[str, tuple[Verdict, ...]]:
    found = run([ENTRIES[name].submission() for name in (*TORCH, *TRITON)], Options(seed=SEED, legacy=()))
    return {result.id: result.verdicts for result in found}


def summary(verdicts: tuple[Verdict, ...]) -> list[tuple[str, str, tuple[str, ...], int]]:
    # Nothing is compiled here, which is all that RES-02 asks.
    return [(v.gate, v.status, v.codes, v.checks) for v in verdicts if v.gate != "RES-02"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TORCH)
def test_the_engines_verdicts(name: str, engine: dict[str, tuple[Verdict, ...]]) -> None:
    entry = ENTRIES[name]
    task = load_task(entry.task)
    found = score_here(entry.source, task, TaskOracle(task, seed=SEED))
    assert summary(found) == summary(engine[name])
    assert any(verdict.status == FAIL for verdict in found) == entry.broken


@pytest.mark.slow
def test_the_engines_verdicts_on_triton(engine: dict[str, tuple[Verdict, ...]]) -> None:
    """In a process of their own: Triton decides at import whether it interprets."""
    pytest.importorskip("triton")
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    text = json.dumps({name: [ENTRIES[name].source, ENTRIES[name].task] for name in TRITON})
    command = [sys.executable, "-c", SCRIPT, SEED]
    done = subprocess.run(command, input=text, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found, on_cuda = json.loads(done.stdout)
    assert on_cuda is False
    for name in TRITON:
        verdicts = tuple(map(Verdict.from_json, found[name]))
        assert summary(verdicts) == summary(engine[name])
        assert any(verdict.status == FAIL for verdict in verdicts) == ENTRIES[name].broken


def test_it_stops_at_the_first_refusal() -> None:
    entry = ENTRIES["broken/nan_to_num/level1_relu"]
    task = load_task(entry.task)
    oracle = TaskOracle(task, seed=SEED)
    found = score_here(entry.source, task, oracle, until_refused=True)
    assert [verdict.status for verdict in found].count(FAIL) == 1
    assert found[-1].codes == ("EXC-01.absorbed",)
    whole = score_here(entry.source, task, oracle)
    assert whole[: len(found)] == found and len(whole) == 13


def test_what_shows_in_later_calls_only_is_seen_when_stopping_early() -> None:
    """Every gate's own calls pass, but the guard looks at all calls of the run."""
    entry = ENTRIES["honest/level1_relu/eager"]
    source = entry.source.replace(
        "return torch.relu(x)",
        "out = torch.relu(x); x.detach().mul_(2.0) if bool((x.abs() < 1e-30).all()) and bool(x.any()) else None; return out",
    )
    assert source != entry.source
    task = load_task(entry.task)
    found = score_here(source, task, TaskOracle(task, seed=SEED), until_refused=True)
    assert "GUARD.mutates-input" in [code for verdict in found for code in verdict.codes]


def test_only_the_gates_that_are_named() -> None:
    entry = ENTRIES["honest/level1_relu/eager"]
    task = load_task(entry.task)
    found = score_here(entry.source, task, TaskOracle(task, seed=SEED), gates=("GUARD", "EXC-01"))
    assert [(verdict.gate, verdict.status) for verdict in found] == [("GUARD", PASS), ("EXC-01", PASS)]


def test_a_kernel_that_does_not_load() -> None:
    task = load_task("level1/relu")
    with pytest.raises(KcbenchError, match="does not load"):
        score_here("x = 1\n", task, TaskOracle(task, seed=SEED))
