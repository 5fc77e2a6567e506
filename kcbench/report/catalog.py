"""The gates as a reader meets them: order, short names, and what each one asks. No gate module is imported, so no torch."""

from __future__ import annotations

from dataclasses import dataclass

from kcbench.domain import verdict as v
from kcbench.domain.verdict import Verdict


@dataclass(frozen=True)
class GateInfo:
    """What a report says about a gate, whatever the run."""

    id: str
    short: str
    """Two letters or a letter and a digit, for narrow columns."""
    title: str
    tolerance_free: bool
    """Its findings rest on exact comparison: no tolerance could be argued with."""
    question: str
    """What the gate asks of a kernel, as a clause that follows "The gate asks that"."""


GATES: tuple[GateInfo, ...] = (
    GateInfo("GUARD", "G", "guard", True, "the kernel plays by the harness's rules"),
    GateInfo("CMP-01", "C1", "input diversity", False, "results stay right for every distribution, scale and sign of the inputs"),
    GateInfo("CMP-02", "C2", "gradient", False, "the backward pass agrees with float64 autograd"),
    GateInfo(
        "CMP-03", "C3", "shape polymorphism", False, "results stay right for every shape and layout that the contract admits"
    ),
    GateInfo("ORD-01", "O1", "summation order", False, "permuting the summed axis moves the result by no more than rounding"),
    GateInfo(
        "ORD-02", "O2", "determinism and aliasing", True, "equal inputs give equal bytes, in storage that is the output's own"
    ),
    GateInfo("ORD-03", "O3", "cancellation", False, "sums survive large terms that cancel"),
    GateInfo(
        "PRC-01", "P1", "precision regime", False, "each declared dtype is computed at the precision that the contract names"
    ),
    GateInfo("PRC-02", "P2", "accumulator", True, "sums are accumulated in float32 or wider"),
    GateInfo(
        "EXC-01", "E1", "non-finite propagation", True, "NaN and infinities reach the outputs that they reach in exact arithmetic"
    ),
    GateInfo("EXC-02", "E2", "subnormals", True, "subnormal numbers are treated in one consistent way, the contract's"),
    GateInfo("RES-01", "R1", "residency", True, "work stays on the inputs' device, stream and memory allowance"),
    GateInfo("RES-02", "R2", "resource budget", True, "the compiled kernels fit the target's registers and memories"),
)
"""``GUARD`` first, then the twelve gates in report order."""

BY_ID = {gate.id: gate for gate in GATES}
TOLERANCE_FREE = frozenset(gate.id for gate in GATES if gate.tolerance_free)


@dataclass(frozen=True)
class Mark:
    """How a verdict is shown in one character: readable without colour."""

    symbol: str
    style: str
    """CSS class in the HTML report."""
    name: str
    meaning: str = ""
    """What the name leaves open."""


PASSED = Mark(".", "pass", "pass")
SILENT = Mark("F", "fail", "silent failure", "a wrong answer without notice")
LOUD = Mark("L", "loud", "loud failure", "an exception inside the contract")
NOT_APPLICABLE = Mark("-", "na", "not applicable")
REFERENCE_INVALID = Mark("r", "ref", "reference invalid", "eager torch fails the same check")
ERROR = Mark("E", "error", "harness error")
NO_VERDICT = Mark("x", "none", "no verdict", "it could not be loaded, or not be run here")
MARKS = (PASSED, SILENT, LOUD, NOT_APPLICABLE, REFERENCE_INVALID, ERROR, NO_VERDICT)

_BY_STATUS = {v.PASS: PASSED, v.NOT_APPLICABLE: NOT_APPLICABLE, v.REFERENCE_INVALID: REFERENCE_INVALID, v.ERROR: ERROR}


def mark(verdict: Verdict | None) -> Mark:
    """The mark of a verdict; :data:`NO_VERDICT` for None."""
    if verdict is None:
        return NO_VERDICT
    if verdict.status == v.FAIL:
        return SILENT if any(finding.silent for finding in verdict.findings) else LOUD
    return _BY_STATUS[verdict.status]


def gate_info(gate: str) -> GateInfo:
    """The catalogue entry of a gate; a plain one for a gate that is not in the catalogue."""
    return BY_ID.get(gate) or GateInfo(gate, gate[:2], gate, False, "the kernel keeps the contract")
