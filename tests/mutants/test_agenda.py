"""Every mutant is handed out once, and to a process that knows its kernel as long as there is one."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import Mutant, Subject  # noqa: E402
from kcbench.mutants.agenda import WORTH_IT, Agenda  # noqa: E402
from kcbench.mutants.planted import Planted  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

TASKS = {name: load_task(f"level1/{name}") for name in ("relu", "softmax", "matmul")}


def some(task: str, kernel: str, count: int, language: str = "torch") -> list[Planted]:
    subject = Subject(f"{task}/{kernel}", TASKS[task], "", language)
    return [Planted(subject, Mutant(f"m-{number}", "m", "index", 1, "", "")) for number in range(count)]


def subjects(agenda: Agenda, process: int) -> list[str]:
    """Whose mutants a process gets that works alone."""
    found: list[str] = []
    while (item := agenda.next(process)) is not None:
        found += [item.subject.id] if item.subject.id not in found[-1:] else []
    return found


def test_each_once() -> None:
    items = some("relu", "a", 3) + some("softmax", "a", 20) + some("softmax", "b", 2) + some("matmul", "a", 1)
    agenda = Agenda(items)
    given: list[str] = []
    running = {0, 1, 2}
    while running:
        for process in sorted(running):
            item = agenda.next(process)
            if item is None:
                running.remove(process)
            else:
                given.append(item.id)
    assert sorted(given) == sorted(item.id for item in items)


def test_kernel_by_kernel_and_task_by_task_the_largest_first() -> None:
    items = some("relu", "a", 2) + some("softmax", "a", 3) + some("relu", "b", 2) + some("matmul", "a", 1)
    mixed = items[::2] + items[1::2]
    assert subjects(Agenda(mixed), 0) == ["relu/a", "relu/b", "softmax/a", "matmul/a"]


def test_processes_take_different_tasks_then_different_kernels() -> None:
    agenda = Agenda(some("relu", "a", 2) + some("relu", "b", 2) + some("softmax", "a", 1))
    first = [agenda.next(process) for process in (0, 1)]
    assert [item and item.subject.id for item in first] == ["relu/a", "softmax/a"]
    again = agenda.next(1)
    assert again is not None and again.subject.id == "relu/b"


def test_help_with_a_kernel_must_be_worth_it() -> None:
    few, many = Agenda(some("relu", "a", WORTH_IT)), Agenda(some("relu", "a", WORTH_IT + 1))
    assert few.next(0) is not None and few.next(1) is None
    assert many.next(0) is not None and many.next(1) is not None


def test_one_language_first() -> None:
    items = some("relu", "a", 5) + some("relu", "t", 1, "triton") + some("softmax", "a", 9) + some("softmax", "t", 2, "triton")
    found = subjects(Agenda(items, first="triton"), 0)
    assert found == ["softmax/t", "relu/t", "softmax/a", "relu/a"]
