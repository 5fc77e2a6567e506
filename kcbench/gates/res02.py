"""RES-02, resource budget: what was compiled fits the device.

Reads compiled metadata (registers, spills, shared memory, Tensor Memory, threads) and compares it with each target's limits.
Without metadata the gate does not apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcbench.domain.observation import Launch
from kcbench.domain.probe import Probe
from kcbench.domain.verdict import NOT_APPLICABLE, Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext


@dataclass(frozen=True)
class Limits:
    """Hardware limits of one target (CUDA C++ Programming Guide, table of technical specifications per compute capability)."""

    shared: int
    """Largest shared memory per block after opt-in, in bytes."""
    tensor_memory: int
    """Tensor Memory columns per multiprocessor; 0 where there is none."""
    registers_per_thread: int = 255
    registers_per_block: int = 65536
    threads: int = 1024
    cluster: int = 8


LIMITS = {
    "sm_80": Limits(shared=163 << 10, tensor_memory=0, cluster=1),
    "sm_86": Limits(shared=99 << 10, tensor_memory=0, cluster=1),
    "sm_89": Limits(shared=99 << 10, tensor_memory=0, cluster=1),
    "sm_90": Limits(shared=227 << 10, tensor_memory=0, cluster=16),
    "sm_100": Limits(shared=227 << 10, tensor_memory=512, cluster=16),
    "sm_103": Limits(shared=227 << 10, tensor_memory=512, cluster=16),
    "sm_120": Limits(shared=99 << 10, tensor_memory=0),
}
SPILL_STORM = 4096
"""Spilled bytes per thread above which a kernel waits for its own registers; the public tcgen05 blocker spills 12 KB and more."""


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
            for code, text, facts in problems[unfit[0]]:
                evidence = {"kind": "resource", "kernel": kernel, "target": unfit[0], **facts}
                findings.setdefault(code, Finding(code, f"{kernel} for {unfit[0]}: {text}", True, (), evidence))
        else:
            notes += [f"{kernel} does not fit {target}: {problems[target][0][1]}" for target in unfit]
    worst = {
        key: max(int(launch.metadata.get(key) or 0) for launch in known)
        for key in ("n_regs", "n_spills", "shared", "tmem_size", "num_warps")
    }
    return Verdict.of("RES-02", list(findings.values()), checks=len(known), notes=notes[:8], metrics=worst)


def _problems(launch: Launch) -> Iterator[tuple[str, str, dict[str, object]]]:
    limits, data = LIMITS[launch.target], launch.metadata
    threads = 32 * int(data.get("num_warps") or 0)
    registers = int(data.get("n_regs") or 0)
    shared = int(data.get("shared") or 0)
    columns = int(data.get("tmem_size") or 0)
    spills = int(data.get("n_spills") or 0)
    if registers > limits.registers_per_thread or registers * threads > limits.registers_per_block:
        text = f"{registers} registers a thread times {threads} threads exceed {limits.registers_per_block} a block"
        yield "registers", text, {"got": registers, "expected": limits.registers_per_thread, "threads": threads}
    if threads > limits.threads:
        yield "registers", f"{threads} threads a block exceed {limits.threads}", {"got": threads, "expected": limits.threads}
    if shared > limits.shared:
        yield "shared", f"{shared} bytes of shared memory exceed {limits.shared}", {"got": shared, "expected": limits.shared}
    if columns > limits.tensor_memory:
        text = f"{columns} Tensor Memory columns exceed {limits.tensor_memory}"
        yield "tmem", text, {"got": columns, "expected": limits.tensor_memory}
    elif columns and (columns < 32 or columns & (columns - 1)):
        yield "tmem", f"{columns} Tensor Memory columns are not a power of two of at least 32", {"got": columns, "expected": 32}
    if data.get("tmem_leak"):
        yield "tmem-leak", "Tensor Memory is not freed on every path", {"got": str(data["tmem_leak"]), "expected": "freed"}
    if spills > SPILL_STORM:
        yield "spill-storm", f"{spills} bytes a thread are spilled", {"got": spills, "expected": SPILL_STORM}


GATE = Gate(
    id="RES-02",
    title="resource budget",
    tolerance_free=True,
    codes=("registers", "shared", "tmem", "tmem-leak", "spill-storm"),
    plan=plan,
    judge=judge,
)
