"""What a gate is, and what it may ask.

A gate is one module with two pure functions. ``plan`` turns a contract into probes; ``judge`` turns observations into a
verdict. Neither starts a process. The engine runs every distinct probe once, whichever gates asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kcbench.domain.contract import Contract
from kcbench.domain.observation import Launch, Observation
from kcbench.domain.probe import NORMAL, Probe, Recipe, World
from kcbench.domain.verdict import Verdict

if TYPE_CHECKING:
    from torch import Tensor

    from kcbench.numerics.stochastic import Estimate

T = TypeVar("T")


class Oracle(Protocol):
    """The grader's knowledge about a task. It never depends on the submission, so every answer is cached."""

    def inputs(self, probe: Probe) -> dict[str, Any]:
        """CPU tensors (or Python scalars) by input name, rounded to the probe's dtype."""

    def truth(self, probe: Probe) -> tuple[Tensor, ...]:
        """The float64 reference's outputs on those inputs."""

    def estimate(self, probe: Probe) -> Estimate:
        """Per-element rounding noise that the contract's precision regime allows around the truth."""

    def magnitude(self, probe: Probe) -> tuple[Tensor, ...] | None:
        """The magnitude twin B of the closed-form bound, where the reference has one."""

    def eager(self, probe: Probe, dtype: str = "") -> Observation:
        """What the task's eager model shows for the same probe on the run's device: at its dtype, or its operands in another."""

    def steady(self, probe: Probe) -> bool:
        """Whether the eager model gives the same bytes in all of the probe's repeats, on the run's device."""

    def gradient_names(self, probe: Probe) -> tuple[str, ...]:
        """``input:<name>`` and ``parameter:<name>`` for the VJPs that the contract names."""

    def gradient_truth(self, probe: Probe) -> dict[str, Tensor]:
        """VJPs of the float64 reference with the probe's cotangents."""

    def gradient_estimate(self, probe: Probe) -> Estimate:
        """Rounding noise of the VJPs, one output per name of :meth:`gradient_names`."""

    def remember(self, kind: str, probe: Probe, make: Callable[[], T]) -> T:
        """What ``make`` says, kept with the other answers: it must follow from them alone.

        Args:
            kind: Names the question.
            probe: The probe that it is about.
            make: Works the answer out.
        """


@dataclass(frozen=True)
class PlanContext:
    """What a gate may know when it plans."""

    contract: Contract
    device: str = "cpu"
    """``cpu`` or ``cuda``."""
    interpreted: bool = False
    """The submission is a Triton kernel that runs on the interpreter: no tensor cores, no device."""
    redraw: bool = True
    """Parameters are redrawn by name; False where the submission does not expose the task's names, or packs its weights."""
    packs: bool = False
    """The submission says that it packs its weights in the constructor."""
    full_sizes: Mapping[str, int] = field(default_factory=dict)
    """The task's own (benchmark) sizes, which a kernel may have been tuned for."""

    @property
    def dtype(self) -> str:
        """The dtype of most probes: the first that the contract declares."""
        return self.contract.dtypes[0]

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The declared dtypes that can be asked for here.

        Triton's interpreter cuts values to bfloat16 instead of rounding them, and computes with their bit patterns: what a kernel
        shows there in bfloat16 is not its own doing.
        """
        return tuple(dtype for dtype in self.contract.dtypes if not (self.interpreted and dtype == "bfloat16"))

    def probe(
        self,
        label: str,
        *,
        dtype: str | None = None,
        axes: Mapping[str, int] | None = None,
        inputs: Mapping[str, Recipe] | None = None,
        parameters: Mapping[str, Recipe] | None = None,
        stream: str = "main",
        world: World | None = None,
        gradient: bool = False,
        cotangent: Recipe = NORMAL,
    ) -> Probe:
        """A probe at gate sizes with ordinary inputs, redrawn parameters and normal cotangents, except for what is given."""
        return Probe(
            label=label,
            axes=self.contract.sizes(**(axes or {})),
            dtype=dtype or self.dtype,
            inputs={**ordinary_inputs(self.contract), **(inputs or {})},
            parameters=(parameters or {}) if self.redraw else None,
            stream=stream,
            world=world or World(),
            gradient=gradient,
            cotangent=cotangent,
        )


@dataclass(frozen=True)
class JudgeContext:
    """What a gate may know when it judges."""

    plan: PlanContext
    observations: Mapping[str, Observation]
    """By probe id."""
    oracle: Oracle
    probes: Mapping[str, Probe] = field(default_factory=dict)
    """All probes of the run by id: some rules hold for every call, whoever asked for it."""
    launches: tuple[Launch, ...] = ()
    targets: tuple[str, ...] = ()
    """Targets that the submission must fit: the device's own, or those its header declares; empty when neither is known."""
    bounds: str = "stochastic"
    """``stochastic`` or ``classic`` (the published ``4*eps*sqrt(N)``)."""

    @property
    def contract(self) -> Contract:
        return self.plan.contract

    def seen(self, probe: Probe) -> Observation:
        """The observation of a probe; ``not-run`` where the run stopped before it."""
        return self.observations.get(probe.id, Observation("not-run", detail="the probe was not run"))


@dataclass(frozen=True)
class Gate:
    """One of the twelve gates, or the guard that stands beside them."""

    id: str
    title: str
    tolerance_free: bool
    codes: tuple[str, ...]
    plan: Callable[[PlanContext], Sequence[Probe]]
    judge: Callable[[JudgeContext, Sequence[Probe]], Verdict]


def ordinary_inputs(contract: Contract) -> dict[str, Recipe]:
    """The contract's own recipe for every input."""
    return {item.name: item_recipe(contract, item.name) for item in contract.inputs}


def item_recipe(contract: Contract, name: str) -> Recipe:
    """The ordinary recipe of one input; an index input's bound stays symbolic and is resolved with the sizes."""
    item = contract.input(name)
    if item.kind == "index":
        return {"kind": "index", "high": item.bound}
    if item.kind == "scalar":
        return {"kind": "constant", "value": item.value}
    if item.kind == "given":
        return {"kind": "problem"}
    return item.recipe


def real_inputs(contract: Contract) -> tuple[str, ...]:
    """Names of the inputs whose distribution, scale and sign the gates may vary."""
    return tuple(item.name for item in contract.inputs if item.kind == "float" and item.domain == "real")


def float_inputs(contract: Contract) -> tuple[str, ...]:
    """Names of all floating inputs."""
    return tuple(item.name for item in contract.inputs if item.kind == "float")
