"""What becomes of a mutant."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import Mutant, outcome, subjects  # noqa: E402
from kcbench.mutants.outcome import Outcome, examine  # noqa: E402
from kcbench.mutants.witness import Bench  # noqa: E402
from kcbench.oracle.oracle import TaskOracle  # noqa: E402
from kcbench.study import allowance  # noqa: E402
from kcbench.study.opinions import Opinions  # noqa: E402
from kcbench.study.panel import Panel  # noqa: E402

SOURCE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"


@pytest.fixture(scope="module")
def bench() -> Bench:
    subject = next(iter(subjects(["level1/relu"])))
    return Bench(subject.source, subject.task, TaskOracle(subject.task, seed="outcome"))


def mutant(expression: str) -> Mutant:
    return Mutant("planted-1", "planted", "arithmetic", 1, "planted", SOURCE.replace("{}", expression))


def test_refused(bench: Bench) -> None:
    found = examine(mutant("torch.relu(x) * 2"), bench)
    assert found.status == "refused" and found.witness is not None and found.witness.kind == "value"
    assert found.codes and found.codes[0].split(".")[0] in ("GUARD", "CMP-01")


def test_equivalent(bench: Bench) -> None:
    found = examine(mutant("torch.clamp_min(x, 0)"), bench, equivalents=True)
    assert (found.status, found.witness, found.codes) == ("equivalent", None, ())


def test_unrunnable(bench: Bench) -> None:
    assert examine(mutant("torch.relu(x) @ 'x'"), bench).status == "unrunnable"


def test_survived(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_score", lambda mutant, bench, every_gate: {"codes": [], "errors": [], "ratios": {}})
    assert examine(mutant("torch.relu(x) * 2"), bench).status == "survived"


def test_every_gate_may_be_asked(bench: Bench) -> None:
    faulty = mutant("torch.relu(x) * 2")
    first, every = examine(faulty, bench), examine(faulty, bench, every_gate=True)
    gates = [{code.partition(".")[0] for code in found.codes} for found in (first, every)]
    assert len(gates[0]) == 1 and gates[0] < gates[1]
    assert {"CMP-01", "CMP-03", "PRC-01"} <= gates[1] & set(every.ratios)


def test_one_that_ends_the_process(bench: Bench) -> None:
    found = examine(mutant("torch.relu(x) if x.shape[0] < 60 else __import__('os')._exit(1)"), bench)
    assert found.witness is not None and (found.witness.kind, found.witness.detail) == ("died", "exited")
    assert found.status == "refused" and found.codes == ("died",)


def test_one_that_does_not_come_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "SECONDS", 1.0)
    monkeypatch.setattr(allowance, "SLOWDOWN", 0.0)
    found = examine(mutant("torch.relu(x) if x.shape[0] < 60 else sum(iter(int, 1))"), bench)
    assert found.witness is not None and found.witness.detail == "no answer within 1 s"


def test_as_json(bench: Bench) -> None:
    found = examine(mutant("torch.relu(x) * 2"), bench)
    data = found.to_json()
    assert data["status"] == "refused" and data["operator"] == "planted" and data["witness"]["kind"] == "value"
    assert "id" not in data and "source" not in data
    assert Outcome.from_json(json.loads(json.dumps(data)), found.mutant) == found


def test_ratios_are_those_of_the_gates_that_were_asked(bench: Bench) -> None:
    """A factor of 1.001 is seen by the first gate that compares values, and the later ones are not asked."""
    found = examine(mutant("torch.relu(x) * 1.001"), bench)
    refusing = found.codes[0].partition(".")[0]
    assert list(found.ratios)[-1] == refusing and found.ratios[refusing]["float32"] > 1
    assert examine(mutant("torch.clamp_min(x, 0)"), bench).ratios == {}
    everything = examine(mutant("torch.clamp_min(x, 0)"), bench, equivalents=True).ratios
    assert set(everything) > set(found.ratios)
    assert all(0 <= ratio < 1 for by_dtype in everything.values() for ratio in by_dtype.values())


def test_others_are_asked_about_a_mutant_with_a_witness(bench: Bench) -> None:
    panel = Panel(bench.place, bench.task, bench.source, interpreted=False, seed=bench.oracle.seed)
    assert examine(mutant("torch.clamp_min(x, 0)"), bench, equivalents=True, panel=panel).opinions is None
    found = examine(mutant("x.clone()"), bench, panel=panel)
    assert found.status == "refused"
    assert found.opinions == Opinions(("kernelbench-v0", "kernelbench-v1"), ("four-distributions", "classic-bounds"))
    assert Outcome.from_json(json.loads(json.dumps(found.to_json())), found.mutant) == found
