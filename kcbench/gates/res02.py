"""RES-02, resource budget: what was compiled fits the device.

Reads compiled metadata (registers, spills, shared memory, Tensor Memory, threads) and compares it with each target's limits;
where the kernel's PTX allocates Tensor Memory, every way through it is followed. Without metadata the gate does not apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kcbench.domain.observation import Launch
from kcbench.domain.probe import Probe
from kcbench.domain.verdict import NOT_APPLICABLE, Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext
from kcbench.resources.figures import Figures, figure_problems
from kcbench.resources.limits import LIMITS
from kcbench.resources.plan import plans
from kcbench.resources.problem import Problem
from kcbench.resources.ptx import functions


def plan(ctx: PlanContext) -> list[Probe]:
    """Nothing to run: launches are recorded while the other gates' probes run."""
    return []


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Every kernel fits every target that the submission owes; where none is named, at least one target of those compiled for."""
    known = [launch for launch in ctx.launches if launch.metadata and launch.target in LIMITS]
    notes = [f"{launch.kernel} for {launch.target}: {launch.error}" for launch in ctx.launches if launch.error]
    if not known:
        reason = "no compiled metadata: the submission launches no kernel of its own"
        if ctx.launches:
            reason = "no compiled metadata could be read"
        return Verdict("RES-02", NOT_APPLICABLE, reason=reason, notes=tuple(notes[:4]))
    findings: dict[str, Finding] = {}
    for kernel in dict.fromkeys(launch.kernel for launch in known):
        mine = [launch for launch in known if launch.kernel == kernel]
        problems = {launch.target: list(_problems(launch)) for launch in mine}
        owed = [target for target in problems if target in ctx.targets] or list(problems)
        unfit = [target for target in owed if problems[target]]
        if (ctx.targets and set(ctx.targets) & set(problems) and unfit) or len(unfit) == len(owed):
            for problem in problems[unfit[0]]:
                facts = {"got": problem.got, "expected": problem.expected, **({"line": problem.line} if problem.line else {})}
                evidence = {"kind": "resource", "kernel": kernel, "target": unfit[0], **facts}
                text = f"{kernel} for {unfit[0]}: {problem.text}"
                findings.setdefault(problem.code, Finding(problem.code, text, True, (), evidence))
        else:
            notes += [f"{kernel} does not fit {target}: {problems[target][0].text}" for target in unfit]
    worst = {
        key: max(int(launch.metadata.get(key) or 0) for launch in known)
        for key in ("n_regs", "n_spills", "shared", "tmem_size", "num_warps")
    }
    return Verdict.of("RES-02", list(findings.values()), checks=len(known), notes=notes[:8], metrics=worst)


def _problems(launch: Launch) -> Iterator[Problem]:
    limits = LIMITS[launch.target]
    planned = _planned(launch.ptx) if limits.tensor_memory else ()
    for problem in figure_problems(Figures.of_metadata(launch.metadata), limits):
        # What the code shows explains more than the compiler's number.
        if problem.code != "tmem" or not any(item.kind.startswith("over") for item in planned):
            yield problem
    yield from planned


def _planned(ptx: str) -> tuple[Problem, ...]:
    """What is wrong with the Tensor Memory plan of the kernels in some PTX."""
    return tuple(problem for _, plan in plans(functions(ptx)) for problem in plan.problems)


GATE = Gate(
    id="RES-02",
    title="resource budget",
    tolerance_free=True,
    codes=("registers", "shared", "tmem", "tmem-leak", "spill-storm"),
    plan=plan,
    judge=judge,
)
