"""Tasks: which tasks are hard, and one task's card with who passes it."""

from __future__ import annotations

from kcbench.errors import KcbenchError
from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.source import highlighted
from kcbench.leaderboard.store import Store
from kcbench.leaderboard.table import ROWS, Column, ordered
from kcbench.paths import data_root
from kcbench.report.card import TaskCard, task_card
from kcbench.report.summary import headline
from kcbench.report.text import count, one_line

COLUMNS = (
    Column("task", "Task"),
    Column("level", "Level"),
    Column("category", "Family"),
    Column("kernels", "Kernels", True),
    Column("clean_rate", "Contract-clean", True),
    Column("legacy_rate", "Legacy accepts", True),
    Column("gap", "Rigor gap", True),
    Column("floor", "Floor", True),
)
MEANING = (
    "Each row is a task: what is to be computed, with a contract that says what a kernel for it owes. Choose one for its "
    "formula, its contract in words, and who passes."
)
TASK_MEANING = "What a kernel for this task owes, and how the submissions for it fare."


def view(store: Store, asked: Asked) -> Page:
    """The list."""
    table = store.tasks(asked.filters)
    found = ordered(table, COLUMNS, asked, by="task", down=False)
    return Page(
        "tasks.html.j2",
        "/tasks",
        "Tasks",
        MEANING,
        {"found": found, "columns": COLUMNS, "limit": ROWS},
        said=count(found.total, "task"),
    )


def view_task(store: Store, asked: Asked) -> Page:
    """One task. What is read from the disk are tasks that come with kcbench, by a name from their own list."""
    name = asked.option("id")
    figures = store.task(name, asked.filters)
    card, reference = _card(name)
    if card is None and not figures.authors.height:
        meaning = "It is no task of this kcbench, and no submission is for it."
        return Page("missing.html.j2", "/tasks", "No such task", meaning, filtered=False, status=404)
    return Page(
        "task.html.j2",
        "/tasks",
        card.title if card is not None else one_line(name, limit=120),
        TASK_MEANING,
        {
            "name": name,
            "card": card,
            "figures": figures,
            "headline": headline(figures.gap),
            "authors": figures.authors.head(ROWS).to_dicts(),
            "codes": figures.codes.head(30).to_dicts(),
            "code": highlighted(card.code) if card is not None else "",
            "reference": highlighted(reference) if reference else "",
        },
        filtered=False,
    )


def _card(name: str) -> tuple[TaskCard | None, str]:
    from kcbench.tasks import list_tasks, load_task

    if name not in list_tasks():
        return None, ""
    try:
        card = task_card(load_task(name))
    except KcbenchError:
        return None, ""
    path = data_root() / "references" / f"{name}.py"
    return card, path.read_text("utf-8") if path.is_file() else ""
