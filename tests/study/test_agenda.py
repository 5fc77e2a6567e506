"""Every job is handed out once, and to a process that knows its group as long as there is one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch")

from kcbench.study.agenda import WORTH_IT, Agenda  # noqa: E402


@dataclass(frozen=True)
class Kernel:
    id: str
    task: str
    group: str
    language: str


def some(task: str, kernel: str, count: int, language: str = "torch") -> list[Kernel]:
    group = f"{task}/{kernel}"
    return [Kernel(f"{group}/{number}", task, group, language) for number in range(count)]


def groups(agenda: Agenda[Kernel], process: int) -> list[str]:
    """The groups that a process goes through that works alone."""
    found: list[str] = []
    while (item := agenda.next(process)) is not None:
        found += [item.group] if item.group not in found[-1:] else []
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


def test_group_by_group_and_task_by_task_the_largest_first() -> None:
    items = some("relu", "a", 2) + some("softmax", "a", 3) + some("relu", "b", 2) + some("matmul", "a", 1)
    mixed = items[::2] + items[1::2]
    assert groups(Agenda(mixed), 0) == ["relu/a", "relu/b", "softmax/a", "matmul/a"]


def test_processes_take_different_tasks_then_different_groups() -> None:
    agenda = Agenda(some("relu", "a", 2) + some("relu", "b", 2) + some("softmax", "a", 1))
    first = [agenda.next(process) for process in (0, 1)]
    assert [item and item.group for item in first] == ["relu/a", "softmax/a"]
    again = agenda.next(1)
    assert again is not None and again.group == "relu/b"


def test_help_with_a_group_must_be_worth_it() -> None:
    few, many = Agenda(some("relu", "a", WORTH_IT)), Agenda(some("relu", "a", WORTH_IT + 1))
    assert few.next(0) is not None and few.next(1) is None
    assert many.next(0) is not None and many.next(1) is not None


def test_one_language_first() -> None:
    items = some("relu", "a", 5) + some("relu", "t", 1, "triton") + some("softmax", "a", 9) + some("softmax", "t", 2, "triton")
    found = groups(Agenda(items, first="triton"), 0)
    assert found == ["softmax/t", "relu/t", "softmax/a", "relu/a"]
