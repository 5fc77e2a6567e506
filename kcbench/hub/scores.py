"""Scores: one figure for a level, as leaderboards of others want it.

A task's score is the share of its submissions that are clean: scored, and refused by no gate. A level's score is the mean over
*all* of its tasks, so that a task without a submission counts as unsolved, as does one that the harness could not judge. With one
submission for each task this is the share of solved tasks; with several it is pass@1.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcbench import __version__
from kcbench.domain import verdict as v
from kcbench.domain.result import Result
from kcbench.errors import KcbenchError
from kcbench.hub.origin import Origin
from kcbench.report.gap import accepts, legacy_checks, legacy_score
from kcbench.report.text import clean, one_line
from kcbench.tasks import list_tasks

CONTRACT = "contract"
"""The score that asks the gates; the others are named for legacy checks."""


@dataclass(frozen=True)
class Score:
    """What one author's submissions reach on the tasks of one configuration."""

    config: str
    """``all`` or ``level_<n>``."""
    check: str
    """:data:`CONTRACT`, or the name of a legacy check."""
    tasks: tuple[str, ...]
    """All tasks of the configuration."""
    shares: tuple[float, ...]
    """For each task, the share of its submissions that the check accepts; 0 without a submission."""
    attempted: int
    """Tasks with a submission."""

    @property
    def value(self) -> float:
        """Mean over the tasks, between 0 and 1."""
        return math.fsum(self.shares) / len(self.shares)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over the tasks; 0 for a single one."""
        n = len(self.shares)
        variance = math.fsum((share - self.value) ** 2 for share in self.shares) / (n - 1) if n > 1 else 0.0
        return math.sqrt(variance / n)


@dataclass(frozen=True)
class RunScores:
    """The scores of a run."""

    author: str
    scores: tuple[Score, ...]
    """``all`` first, then the levels that have a submission; for each, the contract first."""
    submissions: int
    unjudged: int
    """Submissions that the harness could not judge, or that could not run here: they count as unsolved."""
    interpreted: int
    """Submissions that ran on Triton's interpreter, where some gates do not apply."""
    origin: Origin
    header: Mapping[str, Any]


def score_run(results: Sequence[Result], header: Mapping[str, Any], *, author: str = "") -> RunScores:
    """Score one author's submissions.

    Args:
        results: What a run says.
        header: ``run.json``.
        author: Whose submissions to take; may be empty where there is only one author.

    Raises:
        KcbenchError: There are several authors and none was named, there is no such author, no submission is for a published
            task, the run asked some of the gates only, or its tasks are those of another version of kcbench.
    """
    origin = Origin.of(header)
    if not origin.spec and header["kcbench_version"] != __version__:
        what = f"the run was made with the tasks of kcbench {header['kcbench_version']}, and this is {__version__}"
        raise KcbenchError(what, fix="export it with the version that made it")
    if header["options"].get("gates"):
        raise KcbenchError("the run asked some of the gates only", fix="score with all gates, without --gates")
    known = list_tasks(origin.root())
    mine = [result for result in _of_author(results, author) if result.task in set(known)]
    if not mine:
        raise KcbenchError(
            "no submission of the run is for one of the published tasks", fix="runs over other problems have no score"
        )
    configs = {"all": known}
    for level in dict.fromkeys(result.task.partition("/")[0] for result in sorted(mine, key=lambda result: result.task)):
        configs[level.replace("level", "level_")] = [task for task in known if task.startswith(f"{level}/")]
    judges: dict[str, Callable[[Result], bool]] = {CONTRACT: lambda result: result.clean}
    judges.update({check: _accepted_by(check) for check in legacy_checks(mine)})
    return RunScores(
        author=str(mine[0].submission.get("author") or ""),
        scores=tuple(
            _score(config, check, tasks, mine, judge) for config, tasks in configs.items() for check, judge in judges.items()
        ),
        submissions=len(mine),
        unjudged=sum(map(_unjudged, mine)),
        interpreted=sum("interpreted" in result.labels for result in mine),
        origin=origin,
        header=header,
    )


def _of_author(results: Iterable[Result], author: str) -> list[Result]:
    by_author: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_author[str(result.submission.get("author") or "")].append(result)
    names = ", ".join(sorted(one_line(name, limit=60) or "(none named)" for name in by_author))
    if author:
        if author not in by_author:
            raise KcbenchError(f"the run has no submission by {clean(author)}", where="--author", fix=f"authors: {names}")
        return by_author[author]
    if len(by_author) > 1:
        raise KcbenchError("the run has submissions by several authors", fix=f"name one with --author: {names}")
    return next(iter(by_author.values()), [])


def _accepted_by(check: str) -> Callable[[Result], bool]:
    def judge(result: Result) -> bool:
        score = legacy_score(result, check)
        return score is not None and accepts(score)

    return judge


def _unjudged(result: Result) -> bool:
    return result.status in ("error", "skipped") or any(verdict.status == v.ERROR for verdict in result.verdicts)


def _score(config: str, check: str, tasks: Sequence[str], results: Sequence[Result], judge: Callable[[Result], bool]) -> Score:
    answers: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        answers[result.task].append(judge(result))
    shares = [sum(answers[task]) / len(answers[task]) if task in answers else 0.0 for task in tasks]
    return Score(config, check, tuple(tasks), tuple(shares), sum(task in answers for task in tasks))
