"""Contract: what a kernel for a task owes, as data.

The JSON form is described by ``schemas/contract.schema.json``; :meth:`Contract.from_json` expects data that it accepts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcbench.domain.probe import Recipe

Size = str | int
"""A number of elements: fixed, an axis by name, or a product such as ``2*heads*width``."""

Operand = tuple[str, int]
"""An input name (or ``parameter:<name>``) and one of its dimensions."""


def factors(size: Size) -> tuple[Size, ...]:
    """The factors of a size: numbers and names of axes."""
    if isinstance(size, int):
        return (size,)
    return tuple(int(part) if part.isdecimal() else part for part in size.split("*"))


def evaluate_size(size: Size, axes: Mapping[str, int]) -> int:
    """A size at given sizes of the axes; KeyError for an axis that there is not."""
    product = 1
    for factor in factors(size):
        product *= axes[factor] if isinstance(factor, str) else factor
    return product


def evaluate_argument(argument: Any, axes: Mapping[str, int]) -> Any:
    """A constructor argument at given sizes: axes become numbers, at any depth."""
    if isinstance(argument, Mapping):
        if "tuple" in argument:
            return tuple(evaluate_argument(item, axes) for item in argument["tuple"])
        return evaluate_size(argument["axis"], axes)
    return [evaluate_argument(item, axes) for item in argument] if isinstance(argument, list) else argument


@dataclass(frozen=True)
class Axis:
    """A named size."""

    gate: int
    """Size used by most probes: small, and distinct from the other axes' sizes so that a transposition shows."""
    legacy: int
    """Size of the legacy check on a CPU or under an interpreter; on a GPU the task's own sizes are used."""
    varies: bool = True
    """Whether CMP-03 may choose other sizes."""
    minimum: int = 1
    """Smallest size in the class; 0 where an empty tensor is in it."""
    maximum: int | None = None
    multiple_of: int = 1
    values: tuple[int, ...] = ()
    """If not empty, the only sizes in the class."""

    def admits(self, size: int) -> bool:
        """Whether a size lies in the contract's class."""
        if self.values:
            return size in self.values
        return size >= self.minimum and (self.maximum is None or size <= self.maximum) and size % self.multiple_of == 0


@dataclass(frozen=True)
class Input:
    """One positional argument of ``forward``."""

    name: str
    shape: tuple[Size, ...]
    """Axis names, fixed sizes or products of them; for a scalar, ``()`` together with ``kind = "scalar"``."""
    kind: str = "float"
    """``float`` (follows the probe's dtype), ``index`` (int64 in ``[0, bound)``), ``given`` (another dtype, as the task's own
    ``get_inputs`` makes it) or ``scalar`` (a Python number)."""
    domain: str = "real"
    """``real``: any finite value, so that gates vary distribution, scale and sign; ``recipe``: only what ``recipe`` makes."""
    recipe: Recipe = field(default_factory=lambda: {"kind": "normal"})
    """How an ordinary value is drawn."""
    bound: str | int | None = None
    """For ``index``: the axis or number that bounds it."""
    value: float | int | None = None
    """For ``scalar``: the value passed."""
    max_scale: float = 1e3
    """Largest gain that the gates may apply to a ``real`` input."""
    structured: bool = False
    """Its entries depend on one another (a triangle of zeros, symmetry, labels), so that none may be changed alone: a kernel may
    leave out what the structure tells it."""


@dataclass(frozen=True)
class Reduction:
    """The sum inside the task, where there is one."""

    length: tuple[Size, ...]
    """Factors of the reduction length N: axis names and numbers."""
    operands: tuple[Operand, ...] = ()
    """Where the reduced axis lies in each operand."""
    exact: bool = True
    """Every legal algorithm keeps small integers exact; False where transforms (Winograd, FFT) are legal."""
    linear: bool = False
    """The output is a linear function of the inputs given the parameters, so exact integers stay exact."""
    permutable: bool = False
    """Permuting the operands jointly along the reduced axis leaves the result as it is (or permutes it, see ``output_dim``)."""
    output_dim: int | None = None
    """The output dimension that is permuted along, for example for softmax; None where the result does not move."""


@dataclass(frozen=True)
class Designed:
    """A probe designed for one fault: its truth is exact in the output dtype, so it is judged by bit equality."""

    kind: str
    """``absorption`` (PRC-02), ``identity`` (PRC-01), ``integers`` (CMP-01, ORD-01) or ``cancellation`` (ORD-03, integers)."""
    inputs: Mapping[str, Recipe] = field(default_factory=dict)
    parameters: Mapping[str, Recipe] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)
    """Sizes that differ from the gate sizes."""
    dtypes: tuple[str, ...] = ()
    """Dtypes for which the truth is exact; empty means all of the contract's."""


@dataclass(frozen=True)
class Gradient:
    """What is owed of the VJP."""

    inputs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    required: bool = False
    """True: a missing gradient is a failure. False: a forward-only kernel is fine, a wrong gradient is not."""
    kinks: tuple[float, ...] = ()
    """Input values where the derivative jumps: draws keep a distance from them."""
    noise_factor: float = 1.0
    """What the noise of the eager model's gradient is multiplied by, on top of the contract's own factor."""


@dataclass(frozen=True)
class Contract:
    """All that a submission owes for one task."""

    task: str
    axes: Mapping[str, Axis]
    init: tuple[Any, ...]
    """Constructor arguments: literals, or ``{"axis": name}``."""
    inputs: tuple[Input, ...]
    parameters: Mapping[str, Recipe]
    """How each parameter and buffer of the task's model is redrawn: never the identity."""
    dtypes: tuple[str, ...]
    precision: str
    """``ieee`` or ``tf32``: the regime owed for float32."""
    reduction: Reduction | None
    designed: tuple[Designed, ...]
    nonfinite: str
    """``exact`` or ``at_least``."""
    subnormals: str
    """``preserve``, ``flush`` or ``any``."""
    deterministic: bool
    view: bool
    """Outputs may alias inputs."""
    gradient: Gradient | None
    memory_factor: float
    """Peak extra device memory allowed, in multiples of the bytes of inputs, parameters and outputs together (plus 64 MiB)."""
    noise_factor: float
    """What the eager model's rounding noise is multiplied by: 1, unless kernels in practice use an algorithm that rounds more
    than eager's. The reason says which, and why that much."""
    reasons: Mapping[str, str]
    """Why a clause is as it is, or is not testable, by gate id or clause name."""
    random: bool = False
    """The model draws random numbers in ``forward``: values are judged against their mean and spread over such draws."""
    untestable: Mapping[str, str] = field(default_factory=dict)
    """Gates that have no question for this task, or cannot tell a right kernel from a wrong one on it, with the reason: they are
    not applied."""
    provenance: str = "hand"
    """``hand`` or ``inferred``."""
    kernelbench: tuple[int, int] | None = None
    """Level and number of the KernelBench problem whose submissions run against this task unchanged."""
    repairs: str | None = None
    """The task whose degenerate problem this one states so that kernels can be told apart."""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        return hashlib.sha256(json.dumps(self.raw, sort_keys=True).encode()).hexdigest()

    def applicable(self, gates: Sequence[str]) -> tuple[str, ...]:
        """Those of some gates that have a question for kernels for this task."""
        return tuple(gate for gate in gates if not self.unasked(gate))

    def unasked(self, gate: str) -> str:
        """Why a gate has no question for kernels for this task; empty where it has one."""
        if gate in self.untestable:
            return self.untestable[gate]
        permutable = self.reduction is not None and self.reduction.permutable
        asked = {
            "CMP-02": self.gradient is not None,
            "ORD-01": permutable,
            "ORD-03": self.reduction is not None,
            "PRC-02": any(item.kind == "absorption" for item in self.designed),
        }
        return "" if asked.get(gate, True) else self.reasons.get(gate) or "The contract names nothing that it could ask about."

    def sizes(self, **changes: int) -> dict[str, int]:
        """The gate sizes of all axes, with some changed."""
        return {**{name: axis.gate for name, axis in self.axes.items()}, **changes}

    def legacy_sizes(self) -> dict[str, int]:
        """The reduced sizes of the legacy check."""
        return {name: axis.legacy for name, axis in self.axes.items()}

    def shape(self, item: Input, axes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of an input at given sizes."""
        return tuple(evaluate_size(dim, axes) for dim in item.shape)

    def init_args(self, axes: Mapping[str, int]) -> tuple[Any, ...]:
        """The constructor arguments at given sizes."""
        return tuple(evaluate_argument(arg, axes) for arg in self.init)

    def input(self, name: str) -> Input:
        """An input by name; KeyError if there is none."""
        for item in self.inputs:
            if item.name == name:
                return item
        raise KeyError(name)

    def reduction_length(self, axes: Mapping[str, int]) -> int:
        """N at given sizes; 1 where the task reduces nothing."""
        length = 1
        for factor in self.reduction.length if self.reduction else ():
            length *= evaluate_size(factor, axes)
        return length

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Contract:
        """Build a contract from data that ``contract.schema.json`` accepts."""
        axes = {name: Axis(**{**spec, "values": tuple(spec.get("values", ()))}) for name, spec in data["axes"].items()}
        reduction = data.get("reduction")
        gradient = data.get("gradient")
        return cls(
            task=data["task"],
            axes=axes,
            init=tuple(data["init"]),
            inputs=tuple(Input(**{**spec, "shape": tuple(spec["shape"])}) for spec in data["inputs"]),
            parameters=dict(data.get("parameters", {})),
            dtypes=tuple(data["dtypes"]),
            precision=data["precision"],
            reduction=None
            if reduction is None
            else Reduction(
                length=tuple(reduction["length"]),
                operands=_operands(reduction.get("operands", ())),
                exact=reduction.get("exact", True),
                linear=reduction.get("linear", False),
                permutable=reduction.get("permutable", False),
                output_dim=reduction.get("output_dim"),
            ),
            designed=tuple(
                Designed(
                    kind=item["kind"],
                    inputs=item.get("inputs", {}),
                    parameters=item.get("parameters", {}),
                    axes=item.get("axes", {}),
                    dtypes=tuple(item.get("dtypes", ())),
                )
                for item in data.get("designed", ())
            ),
            nonfinite=data["nonfinite"],
            subnormals=data["subnormals"],
            deterministic=data["deterministic"],
            view=data.get("view", False),
            gradient=None
            if gradient is None
            else Gradient(
                inputs=tuple(gradient.get("inputs", ())),
                parameters=tuple(gradient.get("parameters", ())),
                required=gradient.get("required", False),
                kinks=tuple(gradient.get("kinks", ())),
                noise_factor=gradient.get("noise_factor", 1.0),
            ),
            memory_factor=data.get("memory_factor", 4.0),
            noise_factor=data.get("noise_factor", 1.0),
            reasons=dict(data.get("reasons", {})),
            random=data.get("random", False),
            untestable=dict(data.get("untestable", {})),
            provenance=data["provenance"],
            kernelbench=_problem(data.get("compat", {}).get("kernelbench")),
            repairs=data.get("repairs"),
            raw=data,
        )


def _operands(items: Sequence[Sequence[Any]]) -> tuple[Operand, ...]:
    return tuple((str(name), int(dim)) for name, dim in items)


def _problem(data: Mapping[str, int] | None) -> tuple[int, int] | None:
    return None if data is None else (data["level"], data["problem_id"])
