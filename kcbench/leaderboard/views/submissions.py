"""Submissions: the list behind every figure, the newest run first."""

from __future__ import annotations

import re

from kcbench.leaderboard.figures import OUTCOMES
from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.store import Store
from kcbench.report.text import count

ROWS = 100
"""Submissions of one page."""
MEANING = (
    "Every kernel behind the figures, with what the contract says of it. Choose one to see why it was refused, and how to see it "
    "again."
)
_GATE = re.compile(r"[A-Z0-9-]{1,24}(\.[a-z0-9-]{1,40})?", re.ASCII)


def view(store: Store, asked: Asked) -> Page:
    """The page."""
    gate = asked.option("gate")
    gate = gate if _GATE.fullmatch(gate) else ""
    outcome = asked.choice("outcome", OUTCOMES, "")
    offset = asked.number("offset", 0, 1 << 30)
    found = store.submissions(asked.filters, gate=gate, outcome=outcome, offset=offset, limit=ROWS)
    return Page(
        "submissions.html.j2",
        "/submissions",
        f"Submissions that {gate} refuses" if gate else "Submissions",
        MEANING,
        {
            "rows": found.rows.to_dicts(),
            "total": found.total,
            "offset": found.offset,
            "limit": ROWS,
            "gate": gate,
            "outcome": outcome,
            "outcomes": OUTCOMES,
        },
        said=count(found.total, "submission"),
    )
