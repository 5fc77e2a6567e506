"""About: what the figures mean, who may be believed, and how to cite."""

from __future__ import annotations

from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.store import Store
from kcbench.report.catalog import GATES, MARKS
from kcbench.report.summary import HOW_TO_READ

MEANING = "What the figures mean, what they do not mean, and where they come from."
WORDS = (
    (
        "Contract",
        "What a kernel for a task owes: shapes, dtypes, precision, what happens to NaN, whether equal calls give equal bytes.",
    ),
    ("Gate", "One question of the contract. Twelve gates and a guard, which looks after the rules of the game."),
    (
        "Legacy check",
        "The check that published benchmarks use: a few random inputs at one size, accepted when they come out close.",
    ),
    (
        "Contract-clean",
        "Scored by every gate and refused by none. Faults of the harness and what a machine cannot run are not counted.",
    ),
    ("Rigor gap", "Of the kernels that the legacy check accepts, the share that the contract refuses."),
    ("Floor", "Refused by a finding that no tolerance could undo, such as two runs that differ; of all that were scored."),
    ("Honest fast_p", "Share of all kernels that are clean and more than p times as fast as eager torch."),
    ("Interval", "Wilson’s 95 % interval. It covers chance in the choice of kernels, and nothing else."),
    ("Verified", "Run again by the maintainers’ own job. Everything else is self-reported: the submitter ran it, and says so."),
    ("Superseded", "Of several results for one submission the verified one counts, or the newest. Older ones stay in the data."),
)


def view(_store: Store, _asked: Asked) -> Page:
    """The page."""
    context = {"words": WORDS, "how_to_read": HOW_TO_READ, "gates": GATES, "marks": MARKS}
    return Page("about.html.j2", "/about", "About", MEANING, context, filtered=False)
