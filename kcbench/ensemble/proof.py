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
- it gives the same bytes twice, owns its outputs, and leaves its inputs alone.

The rule is one for all variants. It knows neither the gates' model of noise nor their probes, so that a gate that refuses a
proven variant is wrong about it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from kcbench.domain.contract import Contract
from kcbench.domain.probe import Probe
from kcbench.ensemble.cases import EXACT, GRADIENT, POISON, VALUE, Case, cases
from kcbench.ensemble.loading import load
from kcbench.ensemble.variant import TRITON, Variant
from kcbench.numerics.formats import FINITE, NAN, classes, decode, format_of, round_to, torch_dtype
from kcbench.oracle import eager
from kcbench.oracle.draw import MODEL_SEED
from kcbench.oracle.oracle import TaskOracle
from kcbench.oracle.seeding import seeded

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


def prove(variant: Variant, oracle: TaskOracle) -> Proof:
    """Whether a variant is honest.

    Args:
        variant: The variant; its code runs in this process.
        oracle: The oracle of its task. Answers are cached in it, so that a task's variants should share one.
    """
    return _Prover(variant, oracle).prove()


class _Prover:
    def __init__(self, variant: Variant, oracle: TaskOracle) -> None:
        self.variant, self.oracle = variant, oracle
        self.contract: Contract = oracle.task.contract
        self.pools: defaultdict[str, _Pool] = defaultdict(_Pool)

    def prove(self) -> Proof:
        interpreted = self.variant.language == TRITON
        try:
            entry = load(self.variant)
            faults = [
                fault
                for index, case in enumerate(cases(self.contract, seed=self.oracle.seed, interpreted=interpreted))
                for fault in self._try(entry, case, careful=index == 0)
            ]
        except Exception as error:
            return Proof((f"it raised {type(error).__name__}: {error}",), math.inf)
        ratios = {group: pool.ratio() for group, pool in self.pools.items()}
        faults += [f"{group}: {ratio:.3g} times the allowed error" for group, ratio in ratios.items() if ratio > 1]
        return Proof(tuple(dict.fromkeys(faults)), max(ratios.values(), default=0.0))

    def _try(self, entry: type[nn.Module], case: Case, *, careful: bool) -> Iterator[str]:
        probe = case.probe
        model = self._model(entry, probe)
        args = {name: _laid_out(value, probe, name) for name, value in self._inputs(probe).items()}
        if case.kind == GRADIENT:
            yield from self._gradients(case, model, args)
            return
        with torch.no_grad():
            got = eager.as_tuple(model(*args.values()))
            if careful:
                yield from self._repeated(model, args, got, probe)
        owned = {x.untyped_storage().data_ptr() for x in (*args.values(), *model.parameters()) if isinstance(x, Tensor)}
        if any(x.untyped_storage().data_ptr() in owned for x in got if x.numel()):
            yield "an output shares memory with an input or a parameter"
        other = tuple(decode(record) for record in self.oracle.eager(probe).outputs)
        truth = self.oracle.truth(probe)
        if [(x.shape, x.dtype) for x in got] != [(x.shape, x.dtype) for x in other]:
            yield f"{case.group}: the output has another shape or dtype than eager's"
            return
        for index, (mine, its, want) in enumerate(zip(got, other, truth, strict=True)):
            yield from self._classes(case, mine, its, want)
            if case.kind == EXACT:
                rounded = round_to(want, probe.dtype)
                if torch.equal(its.double(), rounded) and not torch.equal(mine.double(), rounded):
                    yield f"{case.group}: not exact where eager is"
            elif case.kind == VALUE:
                magnitude = self.oracle.magnitude(probe)
                size = want.abs() if magnitude is None else magnitude[index]
                self._pool(f"{case.group}, output {index}", probe, mine, its, want, size)

    def _inputs(self, probe: Probe) -> Mapping[str, Any]:
        return eager.place(self.oracle.inputs(probe), torch_dtype(probe.dtype))

    def _model(self, entry: type[nn.Module], probe: Probe) -> nn.Module:
        with seeded(MODEL_SEED):
            model = entry(*self.contract.init_args(probe.axes))
        return eager.load(model.to(torch_dtype(probe.dtype)), self.oracle.parameters(probe))

    def _repeated(self, model: nn.Module, args: Mapping[str, Any], got: tuple[Tensor, ...], probe: Probe) -> Iterator[str]:
        again = eager.as_tuple(model(*args.values()))
        if not all(torch.equal(a, b) for a, b in zip(got, again, strict=True)):
            yield "two calls on the same inputs differ"
        fresh = self._inputs(probe)
        if not all(torch.equal(args[n], fresh[n]) for n in args if isinstance(args[n], Tensor)):
            yield "the call changed its inputs"

    def _classes(self, case: Case, mine: Tensor, its: Tensor, want: Tensor) -> Iterator[str]:
        """Finite, NaN and infinite results, where eager and the truth agree about them."""
        expected, shown = classes(its.double()), classes(mine.double())
        agreed = expected == classes(round_to(want, case.probe.dtype))
        wrong = (shown != expected) & agreed
        if case.kind == POISON and self.contract.nonfinite == "at_least":
            # A block that is multiplied as a whole may make more NaN, and may meet an infinity before it turns into NaN.
            wrong &= (shown != NAN) & ~((expected == NAN) & (shown != FINITE))
        if bool(wrong.any()):
            yield f"{case.group}: {int(wrong.sum())} elements are finite, NaN or infinite where eager's are not"

    def _gradients(self, case: Case, model: nn.Module, args: Mapping[str, Any]) -> Iterator[str]:
        probe, names = case.probe, self.oracle.gradient_names(case.probe)
        required = self.contract.gradient is not None and self.contract.gradient.required
        _, found = eager.vjp(
            lambda *values: eager.as_tuple(model(*values)),
            args,
            dict(model.named_parameters()),
            names,
            self.oracle.cotangents(probe),
        )
        if all(grad is None for grad in found.values()):
            if required or self.variant.language != TRITON:
                yield "it gives no gradient"
            return
        truth, other = self.oracle.gradient_truth(probe), self.oracle.eager(probe).gradients
        for name, mine in found.items():
            record = other[name]
            if mine is None or record is None:
                yield f"it gives no gradient of {name}"
                continue
            size = truth[name].square().mean().sqrt().expand_as(truth[name])
            self._pool(f"gradient of {name}", probe, mine, decode(record), truth[name], size)

    def _pool(self, group: str, probe: Probe, mine: Tensor, its: Tensor, want: Tensor, size: Tensor) -> None:
        facts, accumulator = format_of(probe.dtype), format_of("float32")
        length = self.contract.reduction_length(probe.axes)
        floor = FLOOR * facts.u * want.abs() + length * accumulator.u * size + facts.eta
        fine = torch.isfinite(want) & torch.isfinite(its) & torch.isfinite(mine)
        pool = self.pools[group]
        pool.mine.append(((mine.double() - want).abs() - floor).clamp_min(0)[fine])
        pool.eager.append((its.double() - want).abs()[fine])


def _laid_out(value: Any, probe: Probe, name: str) -> Any:
    """The same values, every other element of a larger tensor where the probe wants strides."""
    if probe.world.layouts.get(name) != "strided":
        return value
    wide = value.new_full((*value.shape[:-1], 2 * value.shape[-1]), math.nan)
    wide[..., ::2] = value
    return wide[..., ::2]
