"""Rigor gap: what the published check accepts and the contract refuses."""

from __future__ import annotations

from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.store import Store
from kcbench.report import plots
from kcbench.report.summary import headline, statements
from kcbench.report.text import count

MEANING = (
    "Of the kernels that the legacy check accepts, the rigor gap is the share that the contract refuses. If it were a matter of "
    "taste, the two would also disagree the other way round: the table shows in how many cases they do."
)


def view(store: Store, asked: Asked) -> Page:
    """The page."""
    figures = store.gap(asked.filters)
    gap = figures.gap
    return Page(
        "gap.html.j2",
        "/gap",
        "The rigor gap",
        MEANING,
        {
            "figures": figures,
            "gap": gap,
            "headline": headline(gap),
            "statements": statements(gap),
            "two_by_two": plots.two_by_two(gap),
            "gate_bars": plots.gate_bars(gap.gates),
            "code_bars": plots.code_bars(gap.codes),
        },
        said=count(gap.table.total, "submission"),
    )
