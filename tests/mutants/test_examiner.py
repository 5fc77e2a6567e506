"""Mutants are examined alike in this process and in workers, and nothing that goes wrong ends a study."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import Mutant, Subject, outcome, subjects  # noqa: E402
from kcbench.mutants.examiner import Examiner  # noqa: E402
from kcbench.mutants.planted import Planted, plant  # noqa: E402
from kcbench.mutants.study import run_study  # noqa: E402
from kcbench.runtime import WorkerPool  # noqa: E402
from kcbench.study import HERE, Workers, place_on  # noqa: E402
from kcbench.study.place import LIMITS  # noqa: E402

SEED = "examiner"
FRAME = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"
SUBJECT = next(iter(subjects(["level1/relu"])))


def planted(expression: str, subject: Subject = SUBJECT) -> Planted:
    return Planted(subject, Mutant("planted-1", "planted", "arithmetic", 1, "planted", FRAME.replace("{}", expression)))


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(limits=LIMITS, slots=2) as made:
        yield made


@pytest.mark.slow
def test_workers_come_to_the_same_as_this_process(pool: WorkerPool) -> None:
    items = [
        planted("torch.clamp_min(x, 0)"),
        planted("torch.relu(x) * 1.001"),
        planted("torch.relu(x) if x.shape[0] < 60 else __import__('os')._exit(1)"),
    ]
    with Examiner(HERE, seed=SEED) as here:
        mine = [here.examine(item) for item in items]
    with Examiner(Workers(pool), seed=SEED) as there:
        theirs = [there.examine(item) for item in items]
    assert [record.outcome.status for record in mine] == ["equivalent", "refused", "refused"]
    assert [record.outcome.status for record in theirs] == ["equivalent", "refused", "refused"]
    assert not any(record.honest_codes or record.failed for record in (*mine, *theirs))
    # By the same input, and for the same reason; that it died is told in other words.
    assert mine[1].outcome == theirs[1].outcome and mine[1].outcome.codes
    assert [record.outcome.witness and record.outcome.witness.kind for record in (mine[2], theirs[2])] == ["died", "died"]


@pytest.mark.slow
def test_so_they_do_for_triton(pool: WorkerPool) -> None:
    """Interpreted in a process of the study, for which this one may be unfit, and in a worker."""
    pytest.importorskip("triton")
    found = list(plant(["level1/relu"], language="triton"))
    items = [next(item for item in found if item.mutant.operator == name) for name in ("widening-dropped", "select-mirrored")]
    mine = list(run_study(items, seed=SEED))
    with Examiner(Workers(pool), seed=SEED) as there:
        theirs = [there.examine(item) for item in items]
    for records in (mine, theirs):
        assert [record.outcome.status for record in records] == ["equivalent", "refused"]
        assert not any(record.honest_codes or record.failed for record in records)
    assert [record.outcome for record in mine] == [record.outcome for record in theirs]


def test_a_gpu_has_workers() -> None:
    with place_on("cuda") as place:
        assert isinstance(place, Workers) and place.device == "cuda"
    with place_on("cpu") as place:
        assert place is HERE


def test_an_honest_kernel_that_is_refused_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = dataclasses.replace(SUBJECT, id="level1/relu/not_so_honest", source=FRAME.replace("{}", "torch.relu(x) * 1.001"))
    with Examiner(HERE, seed=SEED) as examiner:
        found = examiner.examine(planted("torch.relu(x) * -1", subject))
    assert found.honest_codes[0] == "CMP-01.value" and found.outcome.status == "refused" and not found.failed


def test_a_subject_that_cannot_be_measured_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = dataclasses.replace(SUBJECT, id="level1/relu/none", source="x = 1\n")
    with Examiner(HERE, seed=SEED) as examiner:
        first = examiner.examine(planted("torch.relu(x)", subject))
        monkeypatch.setattr("kcbench.mutants.examiner.Bench", None)
        second = examiner.examine(planted("torch.relu(x) * 2", subject))
    for record in (first, second):
        assert record.failed and record.outcome.status == "failed"
        assert "the honest kernel level1/relu/none: KcbenchError: the kernel does not load" in record.outcome.errors[0]


def test_what_fails_on_one_mutant_is_its_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(mutant: Mutant, bench: object) -> None:
        raise ZeroDivisionError("oh no")

    with Examiner(HERE, seed=SEED) as examiner:
        monkeypatch.setattr(outcome, "_search", fail)
        found = examiner.examine(planted("torch.relu(x) * 2"))
        monkeypatch.undo()
        assert found.outcome.status == "failed" and "ZeroDivisionError: oh no" in found.outcome.errors[0]
        assert examiner.examine(planted("torch.relu(x) * 2")).outcome.status == "refused"


def test_a_survivor_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_score", lambda mutant, bench, every_gate: {"codes": [], "errors": [], "ratios": {}})
    with Examiner(HERE, seed=SEED) as examiner:
        found = examiner.examine(planted("torch.relu(x) * 2"))
    assert found.outcome.status == "refused" and "CMP-01.value" in found.outcome.codes
    # Those of the engine, which knew better.
    assert found.outcome.ratios["CMP-01"]["float32"] > 1


def test_a_gate_that_fails_leaves_no_survivor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        outcome, "_score", lambda mutant, bench, every_gate: {"codes": [], "errors": ["ORD-02: KeyError: 'x'"], "ratios": {}}
    )
    with Examiner(HERE, seed=SEED) as examiner:
        found = examiner.examine(planted("torch.relu(x) * 2"))
    assert found.failed and (found.outcome.status, found.outcome.errors) == ("failed", ("ORD-02: KeyError: 'x'",))


def test_what_is_planted_can_be_chosen() -> None:
    items = list(plant(["level1/relu"], language="triton", faults=("index", "boundary")))
    assert {item.mutant.fault for item in items} == {"index", "boundary"}
    assert {item.subject.language for item in items} == {"triton"}
    assert list(plant(["level1/relu"], only=items[3].id)) == [items[3]]
    assert list(plant(["level1/relu"], only="nothing has this")) == []
