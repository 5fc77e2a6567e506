"""Hand-made results: every figure in the tests of this folder can be checked on paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.verdict import ERROR, FAIL, NOT_APPLICABLE, PASS, REFERENCE_INVALID, Finding, Verdict

GATES = (
    "GUARD",
    "CMP-01",
    "CMP-02",
    "CMP-03",
    "ORD-01",
    "ORD-02",
    "ORD-03",
    "PRC-01",
    "PRC-02",
    "EXC-01",
    "EXC-02",
    "RES-01",
    "RES-02",
)


def finding(code: str, *, silent: bool = True, **evidence: Any) -> Finding:
    """A finding with plausible evidence."""
    facts = {"probe": "lognormal", "dtype": "float32", "axes": {"dim": 127}, **evidence}
    return Finding(code, f"it failed: {code}", silent, ("0123456789abcdef",), facts)


def result(
    name: str,
    *codes: str,
    v0: bool | None = True,
    v1: bool | None = None,
    status: str = "scored",
    loud: tuple[str, ...] = (),
    statuses: dict[str, str] | None = None,
    checks: int = 5,
    **changes: Any,
) -> Result:
    """A result that fails with ``GATE.code`` codes, and passes every other gate unless ``statuses`` says otherwise."""
    facts = {
        "id": name,
        "task": "level1/softmax",
        "path": f"submissions/{name}.py",
        "digest": "0" * 64,
        "entry": "ModelNew",
        "author": "someone",
        "language": "triton",
        "packs_weights": False,
        "problem": "",
    }
    evidence = {"kind": "value", "output": 0, "index": [3, 17], "expected": 1.2, "got": 1.25, "tolerance": 3e-6, "ratio": 16666.7}
    verdicts = []
    for gate in GATES if status == "scored" else ():
        mine = [code.partition(".")[2] for code in codes if code.startswith(gate)]
        if mine:
            found = [finding(code, silent=f"{gate}.{code}" not in loud, **evidence) for code in mine]
            verdicts.append(Verdict.of(gate, found, checks=checks))
        else:
            state = (statuses or {}).get(gate, PASS)
            reason = "" if state == PASS else f"{gate} says {state}"
            verdicts.append(
                Verdict(gate, state, reason=reason, checks=checks if state == PASS else 0, metrics={"worst_ratio": 0.25})
            )
    legacy = [LegacyScore("kernelbench-v0", True, v0, "(5 / 5)", (1e-6,), "", "reduced")] if v0 is not None else []
    legacy += [LegacyScore("kernelbench-v1", True, v1)] if v1 is not None else []
    base: dict[str, Any] = {
        "key": f"key-{name}",
        "submission": {**facts, **changes.pop("facts", {})},
        "status": status,
        "reason": "" if status == "scored" else "SyntaxError: invalid syntax",
        "legacy": tuple(legacy),
        "verdicts": tuple(verdicts),
        "labels": ("triton", "interpreted"),
        "environment": {"device": "cpu", "torch": "2.9.0"},
        "timings": {"total": 1.5},
    }
    return Result(**{**base, **changes})


HEADER: dict[str, Any] = {
    "format": 1,
    "kcbench_version": "0.1.0",
    "created": "2026-01-02T03:04:05+00:00",
    "command": ["kcbench", "eval", "submissions"],
    "seed": 7,
    "device": {"kind": "cpu", "name": "a CPU"},
    "sandbox": {"tier": "process"},
    "versions": {"python": "3.11.9", "torch": "2.9.0", "triton": None},
    "tasks": {"level1/softmax": "0" * 64},
    "bounds": "stochastic",
    "jobs": 2,
    "legacy": ["kernelbench-v0"],
    "options": {},
}

NOT_ON_CPU = {"RES-01": NOT_APPLICABLE, "RES-02": NOT_APPLICABLE}

SAMPLE = (
    result("honest/a", statuses=NOT_ON_CPU, v1=True),
    result("honest/b", statuses={**NOT_ON_CPU, "PRC-01": REFERENCE_INVALID}, v1=True),
    result("honest/strict", v0=False, v1=True),
    result("broken/tf32", "PRC-01.tf32", v1=True),
    result("broken/race", "ORD-02.nondeterministic", "CMP-03.shape", v1=True),
    result("broken/nan", "EXC-01.absorbed", "EXC-01.sign", v1=True),
    result("broken/alias", "ORD-02.alias-output", v1=False),
    result("broken/crash", "CMP-03.crash", loud=("CMP-03.crash",), v1=False),
    result("broken/wrong", "CMP-01.value", "PRC-01.value", v0=False, v1=False),
    result("unloadable", v0=False, v1=False, status="unloadable"),
    result("harness/whole", v0=None, status="error"),
    result("harness/gate", "CMP-01.value", statuses={"EXC-02": ERROR}),
    result("unscored", v0=None),
    result("skipped", v0=True, status="skipped"),
)
"""Against kernelbench-v0: 2 accepted and clean, 5 accepted and refused, 1 rejected and clean, 2 rejected and refused."""


@pytest.fixture
def make() -> Callable[..., Result]:
    return result


@pytest.fixture
def sample() -> tuple[Result, ...]:
    return SAMPLE


@pytest.fixture
def header() -> dict[str, Any]:
    return dict(HEADER)


@pytest.fixture
def fail() -> str:
    return FAIL
