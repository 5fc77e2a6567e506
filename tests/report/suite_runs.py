"""Results of made-up runs over a suite: what each kernel does is told in a few words."""

from __future__ import annotations

from typing import Any

from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.timing import Stats, Timing
from kcbench.domain.verdict import FAIL, PASS, Finding, Verdict

HEADER: dict[str, Any] = {
    "format": 1,
    "kcbench_version": "0.1.0",
    "created": "2026-01-02T03:04:05+00:00",
    "command": ["kcbench", "eval", "run", "--suite", "kernelbench"],
    "seed": "7",
    "device": {"kind": "cuda", "name": "a GPU"},
    "sandbox": {"tier": "process"},
    "versions": {"python": "3.11.9", "torch": "2.9.0"},
    "tasks": {},
    "bounds": "stochastic",
    "jobs": 2,
    "legacy": ["kernelbench-v0", "kernelbench-v1"],
    "options": {"timing": ["eager"]},
}


def stats(mean: float, trials: int = 100) -> Stats:
    """Statistics with a given mean."""
    return Stats(0.9 * mean, mean, 0.125 * mean, 0.5 * mean, 2 * mean, trials)


def timing(mean: float, *flags: str, **baselines: float) -> Timing:
    """A timing whose medians give another speedup than its means; baselines by name, with ``_`` for ``-``."""
    own = {**vars(stats(mean)), "median_ms": 0.6 * mean}
    known = {name.replace("_", "-"): stats(value) for name, value in baselines.items()}
    return Timing(**own, baselines=known, flags=flags, device="a GPU")


def kernel(
    problem: int,
    sample: int | None = 0,
    *,
    level: int | None = 1,
    legacy: bool | None = True,
    clean: bool = True,
    status: str = "scored",
    reason: str = "",
    time: Timing | None = None,
    **changes: Any,
) -> Result:
    """One kernel of a run."""
    name = f"level_{level}_problem_{problem}_sample_{sample}_kernel"
    facts = {
        "id": name,
        "task": f"level{level}/{problem}_Name_",
        "path": f"run/{name}.py",
        "digest": "0" * 64,
        "entry": "ModelNew",
        "author": "",
        "language": "cuda",
        "packs_weights": False,
        "problem": "",
        "origin": {"suite": "kernelbench", "level": level, "problem_id": problem, "sample_id": sample},
    }
    scored = status == "scored"
    finding = Finding("absorbed", "a NaN vanished", True, (), {"kind": "value"})
    verdict = Verdict("EXC-01", PASS, checks=3) if clean else Verdict("EXC-01", FAIL, (finding,), checks=3)
    scores = (
        ()
        if legacy is None
        else (
            LegacyScore(
                "kernelbench-v1",
                status != "unloadable",
                legacy and scored,
                "(5 / 5)" if legacy else "(0 / 5)",
                () if legacy else (0.5, 2.0),
                "" if legacy else "output mismatch",
            ),
        )
    )
    return Result(
        **{
            "key": f"key-{name}",
            "submission": facts,
            "status": status,
            "reason": reason,
            "legacy": scores if status in ("scored", "unloadable") else (),
            "verdicts": (verdict,) if scored else (),
            "labels": ("cuda",),
            "environment": {"device": "cuda", "device_name": "a GPU"} if scored else {},
            "timings": {"total": 1.0},
            "timing": time,
            **changes,
        }
    )
