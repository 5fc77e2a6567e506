"""Eval results: what a model's repository holds in ``.eval_results/``, from which the Hub fills the board of a benchmark.

See https://huggingface.co/docs/hub/eval-results. The Hub ranks models by one number a task: a run is cut down to that here.
"""

from __future__ import annotations

from typing import Any

from kcbench.errors import KcbenchError
from kcbench.hub.scores import CONTRACT, RunScores, Score
from kcbench.report.text import count


def eval_results(scores: RunScores, *, repo: str = "", source: str = "") -> list[dict[str, Any]]:
    """The content of a file in ``.eval_results/``: an entry, in per cent, for each task of ``eval.yaml`` that has a submission.

    Args:
        scores: What to write.
        repo: The benchmark's dataset; by default the one that the tasks came from.
        source: Where the run can be looked at; may be empty.

    Raises:
        KcbenchError: No dataset was named, and the tasks came with kcbench.
    """
    dataset = repo or scores.origin.repo
    if not dataset:
        raise KcbenchError("the dataset is not known", where="--repo", fix="name the ORG/NAME that the result is for")
    revision = {"revision": scores.origin.commit} if scores.origin.commit and dataset == scores.origin.repo else {}
    return [
        {
            "dataset": {"id": dataset, "task_id": score.config, **revision},
            "value": round(100 * score.value, 2),
            "date": scores.header["created"],
            **({"source": {"url": source, "name": "kcbench run"}} if source else {}),
            "notes": notes(scores, score),
        }
        for score in scores.scores
        if score.check == CONTRACT
    ]


def notes(scores: RunScores, score: Score) -> str:
    """How the figure came about, in one line."""
    header = scores.header
    parts = [
        "per cent of tasks solved (no contract gate refuses)",
        f"{score.attempted} of {count(len(score.tasks), 'task')} attempted",
        f"kcbench {header['kcbench_version']}",
        f"tasks of {scores.origin.dataset} {scores.origin.version}",
        f"device {header['device']['kind']}",
        f"sandbox {header['sandbox']['tier']}",
    ]
    if scores.interpreted:
        parts.append(f"{count(scores.interpreted, 'submission')} interpreted")
    if scores.unjudged:
        parts.append(f"{count(scores.unjudged, 'submission')} not judged")
    return "; ".join(parts)
