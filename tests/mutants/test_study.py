"""A study over several processes comes to what one process comes to."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import threading

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import shared_out  # noqa: E402
from kcbench.mutants.planted import Planted, plant  # noqa: E402
from kcbench.mutants.record import Record  # noqa: E402
from kcbench.mutants.study import run_study  # noqa: E402
from kcbench.study.processes import in_processes  # noqa: E402

SEED = "study"


@pytest.fixture(scope="module")
def some() -> list[Planted]:
    """Of two kernels of each of two tasks."""
    kernels = [
        *plant(["level1/relu"], only="/model/"),
        *plant(["level1/relu"], only="/custom_backward/"),
        *plant(["level1/sum_axis"], only="/model/"),
    ]
    return list(shared_out(kernels, 7, SEED, of=lambda item: item.mutant))


def facts(records: list[Record]) -> dict[str, Record]:
    return {record.planted.id: dataclasses.replace(record, seconds=0.0) for record in records}


@pytest.mark.slow
def test_two_processes_come_to_what_one_comes_to(some: list[Planted]) -> None:
    environment = dict(os.environ)
    one = list(run_study(some, seed=SEED, jobs=1))
    two = list(run_study(some, seed=SEED, jobs=2))
    assert len(one) == len(two) == len(facts(one)) == len(some)
    assert facts(one) == facts(two)
    assert not any(record.failed for record in one) and {record.outcome.status for record in one} >= {"refused"}
    assert os.environ == environment and not multiprocessing.active_children()


def test_it_stops_and_leaves_no_process(some: list[Planted]) -> None:
    stop = threading.Event()
    running = run_study(some, seed=SEED, stop=stop)
    assert next(running).planted in some
    stop.set()
    assert list(running) == []
    assert not multiprocessing.active_children()


def test_a_caller_that_leaves_it_leaves_no_process(some: list[Planted]) -> None:
    running = run_study(some, seed=SEED)
    next(running)
    running.close()
    assert not multiprocessing.active_children()


def test_a_process_that_ends_is_told(some: list[Planted]) -> None:
    """Honest kernels are trusted to leave the process alone; this one is not honest."""
    bad = dataclasses.replace(some[0], subject=dataclasses.replace(some[0].subject, source="import os\nos._exit(9)\n"))
    with pytest.raises(RuntimeError, match=f"ended at {some[0].id} with exit code 9"):
        list(run_study([bad], seed=SEED))
    assert not multiprocessing.active_children()


def test_nothing_to_do() -> None:
    assert list(run_study([], seed=SEED)) == []


class _Environment:
    """Tells, in place of a record, what the environment of its process is."""

    def __enter__(self) -> _Environment:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def examine(self, _job: Planted) -> _Environment:
        return self

    def to_json(self) -> dict[str, str]:
        return dict(os.environ)


def _begin(_place: object) -> _Environment:
    return _Environment()


def test_processes_that_fork_see_no_gpu(some: list[Planted], monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch starts a thread for each GPU with the first backward pass, and refuses every other one in forks after that."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    [seen] = in_processes(some[:1], _begin, lambda found, _job: found, device="cpu")  # type: ignore[arg-type, type-var]
    assert seen["CUDA_VISIBLE_DEVICES"] == "" and os.environ["CUDA_VISIBLE_DEVICES"] == "0"
