"""The contract tried on its own problem: what same-dtype eager passes, and which planted faults each gate sees.

A clause that eager breaks, or that lets its own mutant through, says nothing about a kernel: it is taken out, with the reason.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from kcbench.domain.observation import Observation, TensorRecord
from kcbench.domain.probe import Probe
from kcbench.domain.verdict import FAIL, NOT_APPLICABLE, PASS, Verdict
from kcbench.gates import Gate, JudgeContext, PlanContext, all_gates
from kcbench.numerics.formats import decode, encode, format_of
from kcbench.oracle.oracle import TaskOracle

VALUE_GATES = ("CMP-01", "CMP-02", "CMP-03", "ORD-01", "ORD-03", "PRC-01", "PRC-02", "EXC-01", "EXC-02")
"""Gates that compare numbers: the others hold for any task."""

_EACH_ALONE = frozenset({"CMP-01", "CMP-03", "EXC-01", "EXC-02"})
"""Gates that look at each probe by itself."""

SIZES = 12
"""Sizes at which CMP-03 is tried."""

NOTHING = "there is nothing to ask: "
"""How the reason begins where a gate has no question for a task, rather than no way to tell right from wrong."""
BLIND = "the answer to other inputs"
SLIGHT = "one part in a thousand off"

Mutate = Callable[[tuple[Tensor, ...], Probe], tuple[Tensor, ...]]


@dataclass(frozen=True)
class Mutant:
    """A fault planted in eager's own outputs."""

    name: str
    gates: tuple[str, ...]
    """Gates that must see it."""
    mutate: Mutate
    gradients: Callable[[Tensor], Tensor] | None = None
    """A fault planted in the gradients instead."""


@dataclass
class Findings:
    """What the trial showed."""

    eager: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts on the eager model, by gate."""
    survived: dict[str, list[str]] = field(default_factory=dict)
    """Mutants that a gate let through."""
    killed: dict[str, list[str]] = field(default_factory=dict)
    unreached: list[str] = field(default_factory=list)
    """Gates for which no time was left."""

    def untestable(self, spared: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
        """Gates to take out, with the reason.

        Args:
            spared: Mutants that a gate need not see.
        """
        for gate, verdict in self.eager.items():
            survived = [name for name in self.survived.get(gate, ()) if name not in spared]
            if verdict.status == NOT_APPLICABLE:
                yield gate, f"{NOTHING}{verdict.reason}"
            elif verdict.status != PASS:
                yield gate, f"the honest eager model does not pass: {verdict.reason or verdict.status}"
            elif survived:
                yield gate, f"it would let these faults through: {', '.join(survived)}"
            elif gate == "CMP-01" and BLIND not in self.killed.get(gate, ()):
                yield gate, "the output does not depend on the inputs, so that any kernel that knows it is right"
            elif not self.killed.get(gate):
                yield gate, "none of the planted faults changes the output"
        yield from ((gate, "there was no time to try it") for gate in self.unreached)


def trial(oracle: TaskOracle, *, seconds: float, gates: Sequence[str] = VALUE_GATES) -> Findings:
    """Put the eager model and its mutants through the gates, in this process.

    Args:
        oracle: Knows the task, with its contract.
        seconds: Processor time for all gates.
        gates: Gates to try.
    """
    plan = PlanContext(oracle.task.contract)
    findings = Findings()
    end = time.thread_time() + seconds
    for gate in all_gates():
        if gate.id not in gates:
            continue
        if time.thread_time() > end:
            findings.unreached.append(gate.id)
            continue
        probes = _some(gate, list(gate.plan(plan)))
        seen = {probe.id: _plain(oracle.eager(probe)) for probe in probes}
        verdict = _judge(gate, plan, oracle, probes, seen)
        findings.eager[gate.id] = verdict
        if verdict.status != PASS:
            continue
        for mutant in mutants(probes, seen):
            if gate.id in mutant.gates:
                changed = {probe.id: _mutated(seen[probe.id], probe, mutant) for probe in probes}
                if all(_same(changed[name], seen[name]) for name in changed):
                    continue  # The mutant is equivalent here: the mean of a single number, say.
                # Most mutants show at once: the first probes are asked before all of them.
                caught = any(
                    _judge(gate, plan, oracle, part, changed).status == FAIL
                    for part in ((probes[:4], probes) if gate.id in _EACH_ALONE else (probes,))
                )
                (findings.killed if caught else findings.survived).setdefault(gate.id, []).append(mutant.name)
    return findings


def refused_by_luck(oracle: TaskOracle, gates: Sequence[str], *, draws: int = 8) -> list[str]:
    """Gates that would refuse the eager model itself when it draws other random numbers.

    Args:
        oracle: Knows the task, whose model draws random numbers.
        gates: Gates to try.
        draws: How many times.
    """
    plan = PlanContext(oracle.task.contract)
    found = []
    for gate in all_gates():
        if gate.id in gates:
            # All sizes: what is drawn at any of them is luck of its own.
            probes = list(gate.plan(plan))
            runs = ({probe.id: _plain(oracle.observe(probe, seed)) for probe in probes} for seed in range(1, draws + 1))
            if any(_judge(gate, plan, oracle, probes, seen).status == FAIL for seen in runs):
                found.append(gate.id)
    return found


def _some(gate: Gate, probes: list[Probe]) -> list[Probe]:
    """The probes that a gate is tried on: all, but for CMP-03, which asks the same of many sizes.

    Where eager itself fails at a size that is left out, the size is left out of every verdict, too.
    """
    if gate.id != "CMP-03" or len(probes) <= SIZES:
        return probes
    return [probes[index * len(probes) // SIZES] for index in range(SIZES)]


def _judge(
    gate: Gate, plan: PlanContext, oracle: TaskOracle, probes: Sequence[Probe], seen: Mapping[str, Observation]
) -> Verdict:
    return gate.judge(JudgeContext(plan, seen, oracle, {probe.id: probe for probe in probes}), probes)


def _plain(seen: Observation) -> Observation:
    return dataclasses.replace(seen, repeats=("",))


def _same(one: Observation, two: Observation) -> bool:
    return [record.data for record in one.outputs] == [record.data for record in two.outputs] and one.gradients == two.gradients


def _mutated(seen: Observation, probe: Probe, mutant: Mutant) -> Observation:
    if not seen.ok:
        return seen
    if mutant.gradients is not None:
        return dataclasses.replace(
            seen, gradients={name: record and _changed(record, mutant.gradients) for name, record in seen.gradients.items()}
        )
    outputs = mutant.mutate(tuple(decode(record) for record in seen.outputs), probe)
    records = tuple(_record(record, tensor) for record, tensor in zip(seen.outputs, outputs, strict=True))
    return dataclasses.replace(seen, outputs=records)


def _changed(record: TensorRecord, change: Callable[[Tensor], Tensor]) -> TensorRecord:
    return _record(record, change(decode(record)))


def _record(like: TensorRecord, tensor: Tensor) -> TensorRecord:
    data = encode(tensor.to(getattr(torch, like.dtype)).contiguous())
    return dataclasses.replace(like, shape=tuple(tensor.shape), data=data)


def mutants(probes: Sequence[Probe], seen: Mapping[str, Observation]) -> tuple[Mutant, ...]:
    """The faults that are planted: constant, blind, cut short, cleaned of NaN, narrowed, flushed."""
    stale = _stale(probes, seen)
    return (
        Mutant("all zeros", ("CMP-01", "CMP-03"), _each(torch.zeros_like)),
        Mutant("its mean everywhere", ("CMP-01",), _each(_mean)),
        Mutant(BLIND, ("CMP-01",), stale),
        Mutant("the last rows left zero", ("CMP-03",), _each(_tail)),
        Mutant(SLIGHT, ("CMP-01", "CMP-03", "ORD-03"), _each(lambda x: _scaled(x, 1.001))),
        Mutant("NaN and infinities replaced by zero", ("EXC-01",), _each(lambda x: torch.nan_to_num(x, 0.0, 0.0, 0.0))),
        Mutant("rounded to bfloat16", ("PRC-01",), _each(lambda x: x.to(torch.bfloat16).to(x.dtype))),
        Mutant("summed in float16 beside 32768", ("PRC-02",), _each(lambda x: (x.double() / 32).round() * 32)),
        Mutant("another value for another order", ("ORD-01",), _reordered),
        Mutant("subnormal results flushed", ("EXC-02",), _each(_flushed)),
        Mutant("gradients of zero", ("CMP-02",), _each(torch.clone), torch.zeros_like),
        Mutant("gradients doubled", ("CMP-02",), _each(torch.clone), lambda x: _scaled(x, 2.0)),
    )


def _each(change: Callable[[Tensor], Tensor]) -> Mutate:
    return lambda outputs, probe: tuple(change(output) for output in outputs)


def _reordered(outputs: tuple[Tensor, ...], probe: Probe) -> tuple[Tensor, ...]:
    if "as drawn" in probe.label:
        return outputs
    return tuple(_scaled(output, 1.01) for output in outputs)


def _mean(x: Tensor) -> Tensor:
    finite = torch.nan_to_num(x.double(), 0.0, 0.0, 0.0)
    return finite.mean().expand(x.shape).clone() if x.numel() else x.double()


def _scaled(x: Tensor, factor: float) -> Tensor:
    if not x.is_floating_point():
        return x + 1
    return x.double() * factor


def _tail(x: Tensor) -> Tensor:
    if not x.dim() or not x.numel():
        return torch.zeros_like(x)
    changed = x.clone()
    longest = max(range(x.dim()), key=lambda dim: x.shape[dim])
    keep = x.shape[longest] - max(1, x.shape[longest] % 32)
    changed.narrow(longest, keep, x.shape[longest] - keep).zero_()
    return changed


def _flushed(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        return x
    least = format_of(str(x.dtype).removeprefix("torch.")).smallest_normal
    return torch.where(x.abs().double() < least, torch.zeros_like(x), x)


def _stale(probes: Sequence[Probe], seen: Mapping[str, Observation]) -> Mutate:
    """Each probe answered with the outputs of the next one of the same shapes."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for probe in probes:
        record = seen[probe.id]
        groups.setdefault(tuple((item.shape, item.dtype) for item in record.outputs), []).append(probe.id)
    following = {name: members[(place + 1) % len(members)] for members in groups.values() for place, name in enumerate(members)}

    def mutate(outputs: tuple[Tensor, ...], probe: Probe) -> tuple[Tensor, ...]:
        other = seen[following[probe.id]]
        return tuple(decode(record) for record in other.outputs) if other.ok else outputs

    return mutate
