"""``results.parquet``: one row per submission and gate.

A submission without verdicts (unloadable, or a harness failure before the first gate) has one row, with nulls in
the gate's columns.

==================  =============  ===========================================================================================
column              type           meaning
==================  =============  ===========================================================================================
submission          string         id, unique within the run
task                string         task id
level, problem_id,  int64          place in the suite that it comes from; null where there is none
sample_id
author, language    string         as the submission says
entry, path         string         class scored; file it came from
digest              string         SHA-256 of the source text
packs_weights       bool           weights are packed in the constructor
labels              list[string]   ``interpreted``, ``torch``, ...
key                 string         digest of all that the result depends on
status              string         ``scored``, ``unloadable``, ``skipped`` or ``error``
reason              string         why it is not ``scored``
refused, clean      bool           the contract's answer; both false where there is none
legacy_v0           bool           accepted by ``kernelbench-v0``; null where it was not scored. Likewise ``legacy_v1``,
                                   and one column for every other legacy check of the run
legacy_size         string         ``full`` or ``reduced``
gate                string         ``GUARD`` or a gate's id
gate_status         string         ``PASS``, ``FAIL``, ``NOT_APPLICABLE``, ``REFERENCE_INVALID`` or ``ERROR``
code                string         first failure code as ``GATE.code``
codes               list[string]   all of them
silent              bool           whether one of the findings is silent; null unless ``FAIL``
summary             string         the first finding in one sentence
gate_reason         string         why the gate did not judge
checks              int64          single checks behind the answer
worst_ratio         float64        worst error over tolerance seen, where the gate has one
env_*               string         one column per field of the result's environment (nested fields as JSON)
seed                string         run seed
kcbench             string         version that made the run
==================  =============  ===========================================================================================

Timings are left out, so that two runs with one seed give equal tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcbench.domain import verdict as v
from kcbench.domain.result import Result
from kcbench.domain.verdict import Verdict
from kcbench.report.gap import accepts, legacy_checks, legacy_score
from kcbench.report.text import as_number, clean

if TYPE_CHECKING:
    import polars

ALWAYS = ("kernelbench-v0", "kernelbench-v1")
"""Legacy checks that have a column in every run."""

ORIGIN = ("level", "problem_id", "sample_id")
"""Columns that say where in a suite a submission stands."""


def frame(results: Sequence[Result], header: Mapping[str, Any]) -> polars.DataFrame:
    """The table described above.

    Args:
        results: What a run says.
        header: ``run.json``.
    """
    import polars as pl  # takes a while: only those who write a table wait for it

    checks = tuple(dict.fromkeys((*ALWAYS, *legacy_checks(results))))
    environment = sorted({str(name) for result in results for name in result.environment})
    rows = [
        {
            **_submission(result),
            **{_column(check): _accepted(result, check) for check in checks},
            "legacy_size": next((score.size for score in result.legacy), None),
            **_gate(verdict),
            **{f"env_{clean(name)}": _text(result.environment.get(name)) for name in environment},
            "seed": _text(header.get("seed")),
            "kcbench": _text(header.get("kcbench_version")),
        }
        for result in results
        for verdict in (result.verdicts or (None,))
    ]
    kinds = {"s": pl.String(), "b": pl.Boolean(), "i": pl.Int64(), "f": pl.Float64(), "l": pl.List(pl.String())}
    letters = {
        **dict.fromkeys(("submission", "task"), "s"),
        **dict.fromkeys(ORIGIN, "i"),
        **dict.fromkeys(("author", "language", "entry", "path", "digest"), "s"),
        "packs_weights": "b",
        "labels": "l",
        **dict.fromkeys(("key", "status", "reason"), "s"),
        **dict.fromkeys(("refused", "clean", *map(_column, checks)), "b"),
        **dict.fromkeys(("legacy_size", "gate", "gate_status", "code"), "s"),
        "codes": "l",
        "silent": "b",
        **dict.fromkeys(("summary", "gate_reason"), "s"),
        "checks": "i",
        "worst_ratio": "f",
        **dict.fromkeys((f"env_{clean(name)}" for name in environment), "s"),
        "seed": "s",
        "kcbench": "s",
    }
    return pl.DataFrame(rows, schema={name: kinds[letter] for name, letter in letters.items()})


def _submission(result: Result) -> dict[str, Any]:
    facts = result.submission
    return {
        "submission": clean(result.id),
        "task": clean(result.task),
        **{name: facts.get("origin", {}).get(name) for name in ORIGIN},
        **{name: _text(facts.get(name)) for name in ("author", "language", "entry", "path", "digest")},
        "packs_weights": facts.get("packs_weights"),
        "labels": [clean(label) for label in result.labels],
        "key": result.key,
        "status": result.status,
        "reason": clean(result.reason),
        "refused": result.refused,
        "clean": result.clean,
    }


def _gate(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {}
    return {
        "gate": verdict.gate,
        "gate_status": verdict.status,
        "code": verdict.codes[0] if verdict.codes else None,
        "codes": list(verdict.codes),
        "silent": any(finding.silent for finding in verdict.findings) if verdict.status == v.FAIL else None,
        "summary": clean(verdict.findings[0].summary) if verdict.findings else None,
        "gate_reason": clean(verdict.reason) or None,
        "checks": verdict.checks,
        "worst_ratio": as_number(verdict.metrics.get("worst_ratio")),
    }


def _column(check: str) -> str:
    return f"legacy_{clean(check).removeprefix('kernelbench-').replace('-', '_')}"


def _accepted(result: Result, check: str) -> bool | None:
    score = legacy_score(result, check)
    return None if score is None else accepts(score)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else clean(value)
    return json.dumps(value, sort_keys=True, default=str)
