"""Mathematical structure found by experiment in float64: linearity, reduced axes, exact probes, differentiability."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kcbench.domain.contract import Contract
from kcbench.domain.probe import Probe, Recipe
from kcbench.domain.task import Task
from kcbench.gates import PlanContext
from kcbench.gates.base import real_inputs
from kcbench.infer.exactness import ExactMode
from kcbench.numerics.formats import round_to
from kcbench.oracle import eager
from kcbench.oracle.oracle import TaskOracle
from kcbench.oracle.twin import widened

TOLERANCE = 1e-9
"""Relative difference under which two float64 results count as equal."""

STEP = 3e-8
"""Step of finite differences: so small that kinks are seldom crossed, and float64 leaves half of the digits."""

Operand = tuple[str, int]


@dataclass(frozen=True)
class Found:
    """A reduced axis."""

    operands: tuple[Operand, ...]
    output_dim: int | None
    size: int


class Laboratory:
    """Evaluates a task's float64 twin on operands of its own choice.

    Args:
        task: The task with its draft contract.
        seconds: Time for all experiments.
    """

    def __init__(self, task: Task, *, seconds: float) -> None:
        self.task, self.contract = task, task.contract
        self.oracle = TaskOracle(task, seed="structure")
        self.plan = PlanContext(task.contract)
        self.end = time.thread_time() + seconds

    def late(self) -> bool:
        """Whether the time is used up."""
        return time.thread_time() > self.end

    def operands(self, probe: Probe) -> dict[str, Tensor]:
        """The real inputs and redrawn parameters of a probe in float64, by operand name."""
        inputs = {name: value for name, value in self.oracle.inputs(probe).items() if name in real_inputs(self.contract)}
        parameters = {f"parameter:{name}": value for name, value in (self.oracle.parameters(probe) or {}).items()}
        return {name: value.to(torch.float64) for name, value in {**inputs, **parameters}.items()}

    def run(self, probe: Probe, changes: Mapping[str, Tensor] | None = None) -> tuple[Tensor, ...]:
        """Outputs of the twin at a probe, with some operands replaced."""
        changes = changes or {}
        args = eager.place(self.oracle.inputs(probe), torch.float64)
        args |= {name: value for name, value in changes.items() if not name.startswith("parameter:")}
        parameters = {name.removeprefix("parameter:"): value for name, value in changes.items() if name.startswith("parameter:")}
        with torch.no_grad():
            model = eager.load(self.oracle.model(probe, torch.float64), parameters)
            return self.oracle.twin(model, args)

    # Linearity

    def multilinear(self) -> bool:
        """Whether the outputs are affine in every operand, taken alone."""
        probe = self.plan.probe("structure", stream="structure/linear")
        base = self.operands(probe)
        first = self.run(probe)
        for name, value in base.items():
            if self.late():
                return False
            step = torch.randn(value.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 2
            once, twice = (self.run(probe, {name: value + k * step}) for k in (1, 2))
            if not all(_equal(c - b, b - a, c) for a, b, c in zip(first, once, twice, strict=True)):
                return False
        return all(torch.isfinite(t).all() for t in first)

    # Reduced axes

    def reduction(self) -> Found | None:
        """The longest axis along which the operands may be permuted together: summed away, or mixed along an output axis."""
        probe = self.plan.probe("structure", stream="structure/reduction")
        base = self.operands(probe)
        first = self.run(probe)
        if not first or not all(t.is_floating_point() and bool(torch.isfinite(t).all()) for t in first):
            return None
        by_size: dict[int, list[Operand]] = {}
        for name, value in base.items():
            for dim, size in enumerate(value.shape):
                if size >= 4:
                    by_size.setdefault(size, []).append((name, dim))
        for size in sorted(by_size, reverse=True):
            order = torch.randperm(size, generator=torch.Generator().manual_seed(size))
            for operands in _subsets(by_size[size]):
                if self.late():
                    return None
                if operands[0][0].startswith("parameter:"):
                    continue
                moved = self.run(probe, {name: base[name].index_select(dim, order) for name, dim in operands})
                if all(_equal(a, b, a) for a, b in zip(first, moved, strict=True)):
                    if self._matters(probe, base, operands, first):
                        return Found(operands, None, size)
                    continue
                if len(first) > 1:
                    continue
                for dim, length in enumerate(first[0].shape):
                    follows = length == size and _equal(first[0].index_select(dim, order), moved[0], first[0])
                    if follows and self._mixes(probe, base, operands, dim, first[0]):
                        return Found(operands, dim, size)
        return None

    def _matters(self, probe: Probe, base: Mapping[str, Tensor], operands: Sequence[Operand], first: Sequence[Tensor]) -> bool:
        """Whether single entries along the axis count: an operand that is not read may be permuted as well."""
        name, dim = operands[0]
        changed = base[name].clone()
        changed.select(dim, 0).mul_(-1.5).add_(0.7)
        return not all(_equal(a, b, a) for a, b in zip(first, self.run(probe, {name: changed}), strict=True))

    def _mixes(
        self, probe: Probe, base: Mapping[str, Tensor], operands: Sequence[Operand], output_dim: int, first: Tensor
    ) -> bool:
        """Whether an entry along the axis reaches other places of the output: elementwise axes may be permuted as well."""
        name, dim = operands[0]
        changed = base[name].clone()
        changed.select(dim, 0).mul_(-1.5).add_(0.7)
        other = self.run(probe, {name: changed})[0]
        rest = torch.arange(1, first.shape[output_dim])
        return not _equal(first.index_select(output_dim, rest), other.index_select(output_dim, rest), first)

    # Exact probes

    def exact(self, inputs: Mapping[str, Recipe], parameters: Mapping[str, Recipe], axes: Mapping[str, int]) -> Probe | None:
        """A probe with these recipes, if its evaluation holds no rounding and its result is not constant."""
        for draw in range(3):  # One draw may be exact by luck: a sum that its length happens to divide.
            probe = self.plan.probe("designed", axes=axes, inputs=inputs, parameters=parameters, stream=f"structure/exact/{draw}")
            outputs = self._exactly(probe)
            if not outputs:
                return None
        steady = all(t.numel() < 2 or bool((t == t.flatten()[0]).all()) for t in outputs)
        rounded = all(not t.is_floating_point() or torch.equal(round_to(t, "float32"), t) for t in outputs)
        if not rounded or (steady and max(t.numel() for t in outputs) > 1):
            return None
        seen = self.oracle.eager(probe)
        return probe if seen.ok else None

    def _exactly(self, probe: Probe) -> tuple[Tensor, ...]:
        """The twin's outputs if nothing in their making was rounded; none otherwise, or where the model does not run."""
        mode = ExactMode()
        try:
            with torch.no_grad():
                model, args = self.oracle.model(probe, torch.float64), eager.place(self.oracle.inputs(probe), torch.float64)
                with mode:
                    outputs = self.oracle.twin(model, args)
        except Exception:  # A size in its axis's class need not go together with every other one.
            return ()
        return outputs if mode.exact else ()

    def integers(self) -> dict[str, Any] | None:
        """Small integers everywhere, where the task keeps them exact."""
        names = real_inputs(self.contract)
        if not names or len(names) < sum(item.kind == "float" for item in self.contract.inputs):
            return None
        inputs = {name: {"kind": "integers", "low": -2, "high": 2} for name in names}
        parameters = {name: {"kind": "integers", "low": -1, "high": 1} for name in self._drawn()}
        if self.exact(inputs, parameters, {}) is None:
            return None
        return {"kind": "integers", "inputs": inputs, "parameters": parameters}

    def absorption(self, found: Found) -> Iterator[dict[str, Any]]:
        """One large value, its negative and small odd integers along the reduced axis; the other operands one, or zero."""
        name, dim = found.operands[0]
        others = {operand for operand, _ in found.operands[1:]}
        axis = size_of(self.contract, found.operands[0])
        # A mean is exact over a power of two of values only.
        even = (
            [{axis: 64}] if isinstance(axis, str) and axis in self.contract.axes and self.contract.axes[axis].admits(64) else []
        )
        for axes, rest in itertools.product(({}, *even), (0.0, 1.0)):
            inputs: dict[str, Any] = {n: {"kind": "constant", "value": 1.0} for n in real_inputs(self.contract)}
            inputs[name] = {"kind": "absorption", "dim": dim, "magnitude": 32768}
            parameters = {n: {"kind": "constant", "value": 1.0 if f"parameter:{n}" in others else rest} for n in self._drawn()}
            probe = self.exact(inputs, parameters, axes)
            if probe is not None and self._small_terms_count(probe, name):
                yield {"kind": "absorption", "inputs": inputs, "parameters": parameters, **({"axes": axes} if axes else {})}
                return

    def _small_terms_count(self, probe: Probe, name: str) -> bool:
        value = self.operands(probe)[name]
        without = torch.where(value.abs() < 1000, torch.zeros_like(value), value)
        return not all(torch.equal(a, b) for a, b in zip(self.run(probe), self.run(probe, {name: without}), strict=True))

    def identity(self, found: Found) -> Iterator[dict[str, Any]]:
        """Values with 13 fraction bits against a unit matrix, so that the result shows each of them unchanged."""
        if len(found.operands) != 2:
            return
        for (name, _), (other, other_dim) in (found.operands, found.operands[::-1]):
            recipe = self._unit(name, other, other_dim)
            if recipe is not None:
                yield recipe

    def _unit(self, name: str, other: str, dim: int) -> dict[str, Any] | None:
        plain = self.operands(self.plan.probe("structure", stream="structure/reduction"))
        shape = plain[other].shape
        for partner in (d for d in range(len(shape)) if d != dim):
            rest = {str(d): shape[d] // 2 for d in range(len(shape)) if d not in (dim, partner)}
            recipes: dict[str, Any] = {f"parameter:{n}": {"kind": "constant", "value": 0.0} for n in self._drawn()}
            recipes |= {n: {"kind": "constant", "value": 1.0} for n in real_inputs(self.contract)}
            recipes[name] = {"kind": "fraction", "bits": 13}
            recipes[other] = {"kind": "eye", "dims": [dim, partner], **({"at": rest} if rest else {})}
            inputs = {n: r for n, r in recipes.items() if not n.startswith("parameter:")}
            parameters = {n.removeprefix("parameter:"): r for n, r in recipes.items() if n.startswith("parameter:")}
            probe = self.plan.probe("designed", inputs=inputs, parameters=parameters, stream="structure/identity")
            outputs = self.run(probe)
            value = self.operands(probe)[name]
            narrowed = self.run(probe, {name: _narrowed(value)})
            shown = {abs(x) for t in outputs for x in t.flatten().tolist()} - {0.0}
            known = {abs(x) for x in value.flatten().tolist()}
            if len(shown) > 4 and shown <= known and not all(torch.equal(a, b) for a, b in zip(outputs, narrowed, strict=True)):
                return {"kind": "identity", "inputs": inputs, "parameters": parameters}
        return None

    def _drawn(self) -> list[str]:
        return [name for name, recipe in self.contract.parameters.items() if recipe["kind"] != "problem"]

    # Gradients

    def gradient(self) -> tuple[dict[str, Any] | None, str]:
        """The operands whose VJP is the derivative of the forward, by finite differences; or why there are none."""
        inputs = list(real_inputs(self.contract))
        parameters = [n for n in self._drawn() if "running_" not in n]
        probe = self.plan.probe("structure", stream="structure/gradient")
        model = self.oracle.model(probe, torch.float64)
        learnt = dict(model.named_parameters())
        parameters = [name for name in parameters if name in learnt]
        names = tuple([f"input:{n}" for n in inputs] + [f"parameter:{n}" for n in parameters])
        outputs = self.run(probe)
        if not names or not outputs or not all(t.is_floating_point() for t in outputs):
            return None, "the output is no floating tensor" if names else "nothing to differentiate by"
        generator = torch.Generator().manual_seed(7)
        cotangents = [torch.randn(t.shape, dtype=torch.float64, generator=generator) for t in outputs]
        args = eager.place(self.oracle.inputs(probe), torch.float64)
        try:
            with widened():
                _, grads = eager.vjp(lambda *a: eager.as_tuple(model(*a)), args, learnt, names, cotangents)
        except Exception as error:
            return None, f"eager's own backward raises {type(error).__name__}"
        used = {name: grad for name, grad in grads.items() if grad is not None}
        base = self.operands(probe)
        steps = {name: torch.randn(grad.shape, dtype=torch.float64, generator=generator) for name, grad in used.items()}
        if not used or not all(bool(torch.isfinite(grad).all()) for grad in used.values()):
            return None, "the gradient is not finite" if used else "no operand has a gradient"
        told = sum(float((grad * steps[name]).sum()) for name, grad in used.items())
        values = []
        for side in (1, -1):
            moved = {_operand(name): base[_operand(name)] + side * STEP * steps[name] for name in used}
            values.append(sum(float((t * c).sum()) for t, c in zip(self.run(probe, moved), cotangents, strict=True)))
        measured = (values[0] - values[1]) / (2 * STEP)
        scale = sum(float((grad * steps[name]).abs().sum()) for name, grad in used.items())
        if abs(told - measured) > 1e-3 * max(abs(told), abs(measured), 1e-3 * scale):
            return None, f"the VJP is not the derivative of the forward: {told:.6g} against {measured:.6g} by finite differences"
        kept = [n for n in inputs if f"input:{n}" in used], [n for n in parameters if f"parameter:{n}" in used]
        return {"inputs": kept[0], "parameters": kept[1]}, ""


def _operand(name: str) -> str:
    return name.removeprefix("input:")


def _narrowed(value: Tensor) -> Tensor:
    """Rounded to the ten fraction bits of tf32."""
    mantissa, exponent = torch.frexp(value)
    return torch.ldexp((mantissa * 2.0**11).round() * 2.0**-11, exponent)


def _equal(a: Tensor, b: Tensor, scale: Tensor) -> bool:
    if a.shape != b.shape:
        return False
    if not a.numel():
        return True
    size = float(torch.nan_to_num(scale.abs(), 0.0, 0.0, 0.0).max())
    return bool(((a - b).abs() <= TOLERANCE * max(size, 1e-300)).all())


def _subsets(operands: Sequence[Operand]) -> Iterator[tuple[Operand, ...]]:
    """Choices of one to three operands, each once, inputs before parameters."""
    ordered = sorted(operands, key=lambda item: item[0].startswith("parameter:"))
    for count in (1, 2, 3):
        for chosen in itertools.islice(itertools.combinations(ordered, count), 60):
            if len({name for name, _ in chosen}) == count:
                yield chosen


def size_of(contract: Contract, operand: Operand) -> int | str | None:
    """The size of an input's dimension as the contract writes it; None for a parameter's."""
    name, dim = operand
    return None if name.startswith("parameter:") else contract.input(name).shape[dim]
