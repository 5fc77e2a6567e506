"""What becomes of a mutant."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import Mutant, outcome, subjects  # noqa: E402
from kcbench.mutants.outcome import examine  # noqa: E402
from kcbench.mutants.witness import Bench  # noqa: E402
from kcbench.oracle.oracle import TaskOracle  # noqa: E402

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
    monkeypatch.setattr(outcome, "_score", lambda mutant, bench: {"codes": [], "errors": []})
    assert examine(mutant("torch.relu(x) * 2"), bench).status == "survived"


def test_one_that_ends_the_process(bench: Bench) -> None:
    found = examine(mutant("torch.relu(x) if x.shape[0] < 60 else __import__('os')._exit(1)"), bench)
    assert found.witness is not None and (found.witness.kind, found.witness.detail) == ("died", "exited")
    assert found.status == "refused" and found.codes == ("died",)


def test_one_that_does_not_come_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "SECONDS", 1.0)
    monkeypatch.setattr(outcome, "SLOWDOWN", 0.0)
    found = examine(mutant("torch.relu(x) if x.shape[0] < 60 else sum(iter(int, 1))"), bench)
    assert found.witness is not None and found.witness.detail == "no answer within 1 s"


def test_as_json(bench: Bench) -> None:
    data = examine(mutant("torch.relu(x) * 2"), bench).to_json()
    assert data["status"] == "refused" and data["id"] == "planted-1" and data["witness"]["kind"] == "value"
    assert "source" not in data
