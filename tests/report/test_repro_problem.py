"""Scripts for kernels of inferred tasks, whose inputs only the problem itself can make."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kcbench.domain.probe import Probe
from kcbench.domain.result import Result
from kcbench.domain.task import Task
from kcbench.domain.verdict import Finding
from kcbench.engine import Options, evaluate, plan_context
from kcbench.errors import KcbenchError
from kcbench.gates import all_gates
from kcbench.infer import task_of_problem
from kcbench.oracle.draw import call_json
from kcbench.oracle.oracle import TaskOracle
from kcbench.report.repro import build_script

TRIANGLES = """
import torch
from torch import nn

side = 1024
wide = 1 * side


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))
        self.register_buffer("mask", torch.tril(torch.ones(shape)))

    def forward(self, a, b, rows):
        return (torch.tril(a @ b) * self.weight * self.mask)[rows]


def get_inputs():
    lower = torch.tril(torch.rand(side, wide))
    return [lower, lower.T.contiguous().T + torch.tril(torch.rand(side, side)), torch.randint(0, side, (8,))]


def get_init_inputs():
    return [(side, side)]
"""
WRONG = {
    "CMP-01": "class ModelNew(Model):\n    def forward(self, a, b, rows):\n        return super().forward(a, a, rows)\n",
    "CMP-03": "class ModelNew(Model):\n    def forward(self, a, b, rows):\n        right = super().forward(a, b, rows)\n"
    "        return right * 1.5 if a.shape[0] % 2 else right\n",
}
PLAIN = """
import torch
from torch import nn

batch, width = 512, 2048


class Model(nn.Module):
    def forward(self, x):
        return x.sum(1)


def get_inputs():
    return [torch.rand(batch, width)]


def get_init_inputs():
    return []
"""
SEED = "a secret"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return task_of_problem(TRIANGLES, task_id="level1/triangles", cache=tmp_path_factory.mktemp("cache"))


def probes_of(task: Task) -> dict[str, Probe]:
    context = plan_context(task, device="cpu", interpreted=False, redraw=True)
    return {probe.id: probe for gate in all_gates() for probe in gate.plan(context)}


RESULTS: dict[tuple[str, str, str], Result] = {}


def judged(task: Task, source: str, gate: str) -> Result:
    """One gate's verdict, taken once."""
    key = task.digest, source, gate
    if key not in RESULTS:
        RESULTS[key] = evaluate(task, source, options=Options(seed=SEED, device="cpu", gates=(gate,), legacy=()))
    return RESULTS[key]


def script_of(task: Task, source: str, result: Result, gate: str, **options: str) -> str:
    """As the command makes it: the calls of a gate's first finding."""
    verdict = result.verdict(gate)
    assert verdict is not None and verdict.findings, result.codes
    finding, probes = verdict.findings[0], probes_of(task)
    oracle = TaskOracle(task, seed=SEED)
    calls = [call_json(task.contract, probes[name], oracle.parameter_specs(probes[name]), SEED, ()) for name in finding.probes]
    return build_script(
        source=source, entry="ModelNew", finding=finding, calls=calls, interpret=False, title=f"{gate} of x", gate=gate, **options
    )


def run(script: str, folder: Path) -> tuple[int, str]:
    """In a process of its own, where kcbench cannot be imported."""
    path = folder / "script.py"
    path.write_text(script, encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [sys.executable, "-P", str(path)], capture_output=True, text=True, cwd=folder, env=environment, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def test_the_problem_has_what_recipes_cannot_say(task: Task) -> None:
    contract = task.contract
    assert [(item.kind, item.recipe) for item in contract.inputs] == [
        ("float", {"kind": "problem"}),
        ("float", {"kind": "problem"}),
        ("given", {"kind": "problem"}),
    ]
    assert contract.parameters["mask"] == {"kind": "problem"}


@pytest.mark.parametrize("gate", WRONG)
def test_a_refusal_is_reproduced_by_torch_alone(gate: str, task: Task, tmp_path: Path) -> None:
    source = TRIANGLES + WRONG[gate]
    result = judged(task, source, gate)
    script = script_of(task, source, result, gate, problem=task.code)
    code, text = run(script, tmp_path)
    assert code == 1 and "REPRODUCED: " in text, text
    # The honest model, in the same calls, does not show it.
    honest = script_of(task, source, result, gate, problem=task.code).replace(WRONG[gate], "class ModelNew(Model):\n    pass\n")
    assert honest != script
    code, text = run(honest, tmp_path)
    assert code == 0 and "not reproduced" in text, text


def test_the_call_says_how_the_problem_is_asked(task: Task) -> None:
    probe = next(probe for probe in probes_of(task).values() if probe.axes["side"] != task.contract.axes["side"].gate)
    oracle = TaskOracle(task, seed=SEED)
    call = call_json(task.contract, probe, oracle.parameter_specs(probe), SEED, ())
    assert [spec["given"]["index"] for spec in call["inputs"]] == [0, 1, 2]
    assert len({spec["given"]["seed"] for spec in call["inputs"]}) == 1, "what ties the inputs together stays"
    assert all(spec["given"]["sizes"] == dict(probe.axes) for spec in call["inputs"])
    assert [spec["dtype"] for spec in call["inputs"]] == ["float32", "float32", None]
    assert [spec["name"] for spec in call["parameters"]] == ["weight"], "parameters of the problem's making are not in the list"
    assert call["init"] == [{"tuple": [probe.axes["side"]] * 2}]


def test_only_scripts_that_need_the_problem_hold_it(tmp_path: Path) -> None:
    task = task_of_problem(PLAIN, task_id="level1/sums", cache=tmp_path / "cache")
    wrong = "class ModelNew(Model):\n    def forward(self, x):\n        return x[:, 1:].sum(1)\n"
    source = PLAIN + wrong
    result = judged(task, source, "CMP-01")
    script = script_of(task, source, result, "CMP-01", problem=task.code)
    assert not re.search(r"\bPROBLEM\b|draw_given|^import ast\b", script.partition("# --- embedded")[0], re.MULTILINE)
    assert "PROBLEM = " not in script
    code, text = run(script, tmp_path)
    assert code == 1 and "REPRODUCED: " in text, text


def test_a_script_without_the_problem_that_it_needs_is_refused(task: Task) -> None:
    result = judged(task, TRIANGLES + WRONG["CMP-01"], "CMP-01")
    with pytest.raises(KcbenchError, match="an input is made by the problem, whose source is missing"):
        script_of(task, "", result, "CMP-01")


def test_a_poison_over_what_the_problem_makes(task: Task, tmp_path: Path) -> None:
    """A recipe that is based on the problem's draw is embedded with its own options."""
    probe = next(iter(probes_of(task).values()))
    poison = {"kind": "poison", "base": {"kind": "problem"}, "at": [[1, 0]], "value": "nan"}
    probe = dataclasses.replace(probe, inputs={**probe.inputs, "a": poison})
    oracle = TaskOracle(task, seed=SEED)
    call = call_json(task.contract, probe, oracle.parameter_specs(probe), SEED, ())
    assert call["inputs"][0]["recipe"] == poison and call["inputs"][0]["given"]["index"] == 0
    cell = oracle.inputs(probe)["b"][2, 1]
    source = (
        TRIANGLES
        + f"class ModelNew(Model):\n    def forward(self, a, b, rows):\n        return a[1] + (b[2, 1] == {float(cell)!r})\n"
    )
    finding = Finding("absorbed", "x", True, (), {"kind": "class", "probe": probe.label, "index": [0], "expected": "nan"})
    script = build_script(
        source=source, entry="ModelNew", finding=finding, calls=[call], interpret=False, title="EXC-01", problem=task.code
    )
    code, text = run(script, tmp_path)
    assert code == 0 and "nan" in text, text
