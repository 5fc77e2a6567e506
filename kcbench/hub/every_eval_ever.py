"""Every Eval Ever: the scores of a run as one record of that collection's format (https://github.com/evaleval/every_eval_ever).

The collection keeps a record at ``data/kcbench/<developer>/<model>/<uuid>.json``. Verdicts of single submissions are not in it:
the results dataset has them, and ``run`` in the library's details names its rows there.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from kcbench.errors import KcbenchError
from kcbench.hub.manifest import SPLIT
from kcbench.hub.results import run_digest
from kcbench.hub.scores import CONTRACT, RunScores, Score

SCHEMA = "0.3.0"
"""Version of the format."""


def every_eval_ever(
    scores: RunScores, *, model: str = "", repo: str = "", organization: str = "", source: str = "", now: float | None = None
) -> dict[str, Any]:
    """The record as JSON-ready data.

    Args:
        scores: What to write.
        model: Model that wrote the kernels, ``ORG/NAME``; their author by default.
        repo: Dataset that the tasks are published in; by default the one that they came from.
        organization: Who ran kcbench; ``unknown`` if empty.
        source: Where the run can be looked at; may be empty.
        now: Time of the record, seconds since the epoch; the present by default.

    Raises:
        KcbenchError: Neither a model nor an author is known.
    """
    name = model or scores.author
    if not name:
        raise KcbenchError("the submissions name no author", where="--model", fix="name the model that wrote the kernels")
    made = str(int(time.time() if now is None else now))
    header = scores.header
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"kcbench/{name}/{made}",
        "evaluation_timestamp": str(int(datetime.fromisoformat(header["created"]).timestamp())),
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": "kcbench",
            "source_type": "evaluation_run",
            "source_organization_name": organization or "unknown",
            "evaluator_relationship": "other",
            **({"additional_details": {"run_url": source}} if source else {}),
        },
        "eval_library": {
            "name": "kcbench",
            "version": header["kcbench_version"],
            "additional_details": {
                "run": run_digest(header),
                "device": header["device"]["kind"],
                "device_name": header["device"]["name"],
                "sandbox": header["sandbox"]["tier"],
                "seed": str(header["seed"]),
                "bounds": header["bounds"],
                "tasks": scores.origin.dataset,
                "tasks_version": scores.origin.version,
            },
        },
        "model_info": {
            "name": name,
            "id": name,
            **({"developer": name.partition("/")[0]} if "/" in name else {}),
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_result(scores, score, repo or scores.origin.repo) for score in scores.scores],
    }


def _result(scores: RunScores, score: Score, repo: str) -> dict[str, Any]:
    data: dict[str, Any] = {"dataset_name": f"kcbench {score.config}", "source_type": "other"}
    if repo:
        place = {"source_type": "hf_dataset", "hf_repo": repo, "hf_split": SPLIT}
        data = {**data, **place, "samples_number": len(score.tasks), "sample_ids": list(score.tasks)}
    solved = "no contract gate refuses" if score.check == CONTRACT else f"{score.check} accepts"
    return {
        "evaluation_result_id": f"{score.config}/{score.check}",
        "evaluation_name": f"kcbench {score.config}",
        "source_data": data,
        "metric_config": {
            "evaluation_description": f"Mean over all tasks of the share of a task's kernels that {solved}.",
            "metric_id": f"kcbench.{score.check}",
            "metric_name": f"solved ({score.check})",
            "metric_kind": "pass_rate",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {
            "score": score.value,
            "details": {
                "tasks_attempted": str(score.attempted),
                "submissions": str(scores.submissions),
                "not_judged": str(scores.unjudged),
                "interpreted": str(scores.interpreted),
            },
            "uncertainty": {
                "standard_error": {"value": score.standard_error, "method": "analytic"},
                "num_samples": len(score.tasks),
            },
        },
    }
