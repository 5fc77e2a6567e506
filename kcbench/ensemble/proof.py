"""Proof that a variant is honest, without asking a gate.

Over random sizes, dtypes and families of inputs inside the contract a variant must show that

- its error against the float64 truth is at most :data:`FACTOR` times that of the eager model at the same dtype, in the largest
  element and in the root mean square over a family of inputs, once a floor is taken off: :data:`FLOOR` unit roundoffs of the
  result, and the most that one float32 sum can lose in any order, ``N u`` of the magnitude of what is added up (not the root of
  N: where one value is added again and again all roundings are alike);
- on integers, where the contract's sum is linear and exact, it is exact wherever eager is;
- finite, NaN and infinite results come out where eager's do; where the contract says ``at_least`` there may be more NaN, and an
  infinity in the place of a NaN;
- its gradients, where it has them, meet the first rule;
- it gives the same bytes twice, owns its outputs, and leaves its inputs and the memory of others alone.

The rule is one for all variants. It knows neither the gates' model of noise nor their probes, so that a gate that refuses a
proven variant is wrong about it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from kcbench.domain.contract import Contract
from kcbench.domain.observation import Observation, TensorRecord
from kcbench.domain.probe import Probe
from kcbench.engine.calls import build_call
from kcbench.ensemble.cases import EXACT, GRADIENT, POISON, VALUE, Case, cases
from kcbench.ensemble.variant import TRITON, Variant
from kcbench.gates.compare import as_eager_in_float32
from kcbench.numerics.formats import FINITE, NAN, classes, decode, format_of, round_to
from kcbench.oracle.oracle import TaskOracle
from kcbench.runtime import LoadReport, WorkerSession

FACTOR = 4.0
"""How much further from the truth than eager an honest implementation may be. Eager's own kernels differ from one another by
about as much: its sums are wide trees on a CPU, and one long chain per thread elsewhere."""
FLOOR = 4.0
"""Unit roundoffs of the result that are granted to everyone: two units in the last place."""


@dataclass(frozen=True)
class Proof:
    """What was found of one variant."""

    faults: tuple[str, ...]
    """Why it is not proven, one line each; empty when it is."""
    worst: float
    """Largest error over what is allowed, over all families, elements and root mean squares; 1 is the line."""

    @property
    def proven(self) -> bool:
        return not self.faults


@dataclass
class _Pool:
    """Errors of one family of inputs. They are not put in relation to each case's results, which cancel in some."""

    mine: list[Tensor] = field(default_factory=list)
    eager: list[Tensor] = field(default_factory=list)

    def ratio(self) -> float:
        """The larger of the two ratios to what is allowed."""
        mine, other = torch.cat(self.mine), torch.cat(self.eager)
        if not mine.numel():
            return 0.0
        pairs = ((mine.max(), other.max()), (mine.square().mean().sqrt(), other.square().mean().sqrt()))
        return max(0.0 if a == 0 else float(a) / (FACTOR * float(b)) if b > 0 else math.inf for a, b in pairs)


def prove(variant: Variant, session: WorkerSession, oracle: TaskOracle, *, interpreted: bool = False) -> Proof:
    """Whether a variant is honest.

    Args:
        variant: The variant.
        session: A session for it.
        oracle: The oracle of its task, which sees eager where the session is. Answers are cached in it, so that a task's variants
            should share one.
        interpreted: It runs on Triton's interpreter.
    """
    return _Prover(variant, session, oracle, interpreted).prove()


class _FaultError(Exception):
    """What ends a proof at once."""


class _Prover:
    def __init__(self, variant: Variant, session: WorkerSession, oracle: TaskOracle, interpreted: bool) -> None:
        self.variant, self.session, self.oracle, self.interpreted = variant, session, oracle, interpreted
        self.contract: Contract = oracle.task.contract
        self.pools: defaultdict[str, _Pool] = defaultdict(_Pool)

    def prove(self) -> Proof:
        try:
            _must_answer(self.session.load())
            chosen = list(cases(self.contract, seed=self.oracle.seed, interpreted=self.interpreted))
            # A second call of each costs too much on the interpreter, where nothing runs in parallel anyway.
            twice = 1 if self.interpreted else len(chosen)
            faults = [fault for index, case in enumerate(chosen) for fault in self._try(case, again=index < twice)]
        except _FaultError as error:
            return Proof((str(error),), math.inf)
        ratios = {group: pool.ratio() for group, pool in self.pools.items()}
        faults += [f"{group}: {ratio:.3g} times the allowed error" for group, ratio in ratios.items() if ratio > 1]
        return Proof(tuple(dict.fromkeys(faults)), max(ratios.values(), default=0.0))

    def _try(self, case: Case, *, again: bool) -> Iterator[str]:
        probe = case.probe
        asked = replace(probe, world=replace(probe.world, repeats=2 if again else 1))
        seen = self.session.call(build_call(self.oracle, asked))
        _must_answer(seen)
        if case.kind == GRADIENT:
            yield from self._gradients(case, seen)
            return
        if len(set(seen.repeats)) > 1:
            yield "two calls on the same inputs differ"
        if seen.mutated:
            yield "the call changed its inputs"
        if seen.outside:
            yield "the call wrote to memory that it was not given"
        if any(alias.kind in ("input", "parameter") for alias in seen.aliases):
            yield "an output shares memory with an input or a parameter"
        other, truth = self.oracle.eager(probe), self.oracle.truth(probe)
        if _forms(seen.outputs) != _forms(other.outputs):
            yield f"{case.group}: the output has another shape or dtype than eager's"
            return
        for index, want in enumerate(truth):
            mine, its = decode(seen.outputs[index]), decode(other.outputs[index])
            yield from self._classes(case, index, mine, its, want)
            if case.kind == EXACT:
                rounded = round_to(want, probe.dtype)
                if torch.equal(its.double(), rounded) and not torch.equal(mine.double(), rounded):
                    yield f"{case.group}: not exact where eager is"
            elif case.kind == VALUE:
                magnitude = self.oracle.magnitude(probe)
                size = want.abs() if magnitude is None else magnitude[index]
                self._pool(f"{case.group}, output {index}", probe, mine, its, want, size)

    def _classes(self, case: Case, output: int, mine: Tensor, its: Tensor, want: Tensor) -> Iterator[str]:
        """Finite, NaN and infinite results, where eager and the truth agree about them."""
        expected, shown = classes(its.double()), classes(mine.double())
        agreed = expected == classes(round_to(want, case.probe.dtype))
        wrong = (shown != expected) & agreed
        if case.kind == POISON and self.contract.nonfinite == "at_least":
            # A block that is multiplied as a whole may make more NaN, and may meet an infinity before it turns into NaN.
            wrong &= (shown != NAN) & ~((expected == NAN) & (shown != FINITE))
        if bool(wrong.any()):
            wrong &= ~as_eager_in_float32(self.oracle, case.probe, output, mine)
        if bool(wrong.any()):
            yield f"{case.group}: {int(wrong.sum())} elements are finite, NaN or infinite where eager's are not"

    def _gradients(self, case: Case, seen: Observation) -> Iterator[str]:
        probe = case.probe
        required = self.contract.gradient is not None and self.contract.gradient.required
        if seen.gradient_status == "raised":
            yield f"its backward pass {_told(seen)}"
            return
        if all(grad is None for grad in seen.gradients.values()):
            if required or self.variant.language != TRITON:
                yield "it gives no gradient"
            return
        truth, other = self.oracle.gradient_truth(probe), self.oracle.eager(probe).gradients
        for name in self.oracle.gradient_names(probe):
            mine, its = seen.gradients.get(name), other[name]
            if mine is None or its is None:
                yield f"it gives no gradient of {name}"
                continue
            size = truth[name].square().mean().sqrt().expand_as(truth[name])
            self._pool(f"gradient of {name}", probe, decode(mine), decode(its), truth[name], size)

    def _pool(self, group: str, probe: Probe, mine: Tensor, its: Tensor, want: Tensor, size: Tensor) -> None:
        facts, accumulator = format_of(probe.dtype), format_of("float32")
        length = self.contract.reduction_length(probe.axes)
        floor = FLOOR * facts.u * want.abs() + length * accumulator.u * size + facts.eta
        fine = torch.isfinite(want) & torch.isfinite(its) & torch.isfinite(mine)
        pool = self.pools[group]
        pool.mine.append(((mine.double() - want).abs() - floor).clamp_min(0)[fine])
        pool.eager.append((its.double() - want).abs()[fine])


def _must_answer(seen: Observation | LoadReport) -> None:
    if not seen.ok:
        raise _FaultError(f"it {_told(seen)}")


def _told(seen: Observation | LoadReport) -> str:
    return f"raised {seen.raised.type}: {seen.raised.message}" if seen.raised else f"gave no answer: {seen.detail}"


def _forms(outputs: tuple[TensorRecord, ...]) -> list[tuple[tuple[int, ...], str]]:
    return [(record.shape, record.dtype) for record in outputs]
