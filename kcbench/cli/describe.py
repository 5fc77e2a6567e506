"""A task card on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kcbench.report.card import TaskCard


def describe(card: TaskCard) -> RenderableType:
    """The card as ``kcbench tasks show`` prints it."""
    parts: list[RenderableType] = [Text(f"{card.id}  {card.title} ({card.category})", "bold"), Text(f"  {card.formula}")]
    parts += [Padding(Text(line), (0, 0, 0, 2)) for line in (card.summary, *card.relations)]
    for section in card.sections:
        parts += [Text(f"\n{section.title}", "bold"), _table(section.columns, section.rows)]
    parts += [Text("\nGates", "bold"), _table(("gate", "asked"), [(name, why or "yes") for name, _, why in card.gates])]
    parts += [Text("\nA call at gate sizes", "bold"), Padding(Text(card.example), (0, 0, 0, 2))]
    if card.notes:
        parts.append(Text("\nWhy, and what to mind", "bold"))
        parts += [Padding(Text(f"{name}: {reason}"), (0, 0, 0, 2)) for name, reason in card.notes]
    return Group(*parts)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
