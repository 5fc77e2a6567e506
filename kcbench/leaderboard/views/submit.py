"""Submit: a reader's run is checked, and proposed for the results dataset by a pull request in the reader's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kcbench.errors import KcbenchError
from kcbench.hub.push import push_results
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.store import Store
from kcbench.leaderboard.upload import BAD, GOOD, LARGEST, NOTE, Check, Upload
from kcbench.report.text import one_line

MEANING = (
    "Add a run of yours. It is checked here, and then proposed to the results dataset as a pull request in your name. Until the "
    "maintainers have run it again, its rows are marked self-reported."
)


@dataclass(frozen=True)
class Proposal:
    """What a reader asked for beside the check."""

    repo: str
    token: str
    wanted: bool
    """A pull request is to be opened; else the run is checked only."""


def view(_store: Store, _asked: Asked, *, repo: str = "") -> Page:
    """The form.

    Args:
        repo: The results dataset that the leaderboard shows; empty where the reader has to name one.
    """
    return _page({"repo": repo, "fixed": bool(repo), "checks": (), "url": "", "verdict": ""})


def refused(repo: str, why: str, status: int = 400) -> Page:
    """The form, with the reason why what was sent was not even looked at."""
    context = {"repo": repo, "fixed": bool(repo), "checks": (Check(BAD, why),), "url": "", "verdict": "Nothing was proposed."}
    return _page(context, status=status)


def answer(store: Store, upload: Upload, proposal: Proposal, *, fixed: bool) -> Page:
    """The form, with what was found and done.

    Args:
        store: The results so far.
        upload: What was sent.
        proposal: What is to be done with it.
        fixed: The dataset is the leaderboard's own.
    """
    checks = list(upload.checks)
    if upload.run and store.submissions(Filters(runs=(upload.run,)), limit=1).total:
        checks.append(Check(NOTE, "The leaderboard has results of this run already: a proposal replaces them."))
    url, verdict = "", "The run can be proposed." if upload.usable else "This run cannot be proposed as it is."
    if upload.usable and proposal.wanted:
        url, verdict = _propose(upload, proposal, checks)
    status = 200 if upload.usable and not any(check.state == BAD for check in checks) else 422
    context = {"repo": proposal.repo, "fixed": fixed, "checks": tuple(checks), "url": url, "verdict": verdict}
    return _page(context, status=status)


def _propose(upload: Upload, proposal: Proposal, checks: list[Check]) -> tuple[str, str]:
    if not proposal.token:
        checks.append(Check(BAD, "An access token is needed to open a pull request in your name."))
        return "", "Nothing was proposed."
    try:
        made = push_results(upload.folder, proposal.repo, pull_request=True, token=proposal.token, sources=upload.sources)
    except KcbenchError as error:
        # No message of the Hub's client holds the token, but nothing is lost by making sure.
        checks.append(Check(BAD, one_line(str(error).replace(proposal.token, "…"), limit=400)))
        return "", "Nothing was proposed."
    if not made.changed:
        where = (
            "An open pull request holds these very results." if made.address.revision else "The dataset holds these very results."
        )
        checks.append(Check(NOTE, where))
        return made.url, "There is nothing to add."
    checks.append(Check(GOOD, f"A pull request was opened at {made.address.repo}."))
    return made.url, "Proposed. The maintainers look at it next."


def _page(context: dict[str, Any], status: int = 200) -> Page:
    context |= {"largest": LARGEST >> 20, "states": {GOOD: "ok", BAD: "fault", NOTE: "note"}}
    return Page("submit.html.j2", "/submit", "Submit results", MEANING, context, filtered=False, status=status)
