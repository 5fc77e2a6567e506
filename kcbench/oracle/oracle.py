"""The oracle of one task: truth, allowed noise and eager behaviour for any probe, cached by the probe's content.

Nothing here depends on a submission. Everything numeric happens in float64 on the CPU, on inputs already rounded to the
candidate's dtype; only the eager observations are taken on the run's device, by whoever is given the task to run the model.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from kcbench.domain.observation import Observation
from kcbench.domain.probe import Probe
from kcbench.domain.task import Task
from kcbench.numerics.formats import torch_dtype
from kcbench.numerics.stochastic import Estimate, estimate
from kcbench.oracle import eager
from kcbench.oracle.draw import MODEL_SEED, ParameterSpec, draw_cotangents, draw_inputs, draw_parameters
from kcbench.oracle.generate import Generator
from kcbench.oracle.module import reference_module, task_module
from kcbench.oracle.seeding import seeded
from kcbench.oracle.twin import Factories, widened

T = TypeVar("T")
MOST_KEPT = 1 << 18
"""Parameters of a model that are kept for each probe."""
RANDOM_DRAWS = 24
"""Runs from which the spread of a model that draws random numbers is estimated."""


class TaskOracle:
    """Implements :class:`kcbench.gates.base.Oracle` for one task and seed. Safe to share between threads.

    Args:
        task: The task.
        seed: The run's secret.
        run_eager: Runs the eager model for a probe, so many times, in another dtype if one is named; by default in this process,
            on the CPU. A GPU run gives one that uses a worker: the eager model can break a CUDA context (a misaligned input does
            it), and the grader must outlive that.
    """

    def __init__(self, task: Task, *, seed: str, run_eager: Callable[[Probe, int, str], Observation] | None = None) -> None:
        self.task = task
        self.seed = seed
        self._run_eager = run_eager or self._eager
        self._module = task_module(task, None)
        self._reference = None if task.reference is None else reference_module(task)
        """None where the model's own float64 twin stands in for a reference."""
        self._generator = Generator(task)
        self._lock = threading.RLock()
        self._cache: dict[tuple[str, ...], Any] = {}

    def _cached(self, kind: str, probe: Probe, make: Callable[[], T]) -> T:
        return self._kept((kind, probe.values), make)

    def _kept(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._cache:
                self._cache[key] = make()
            return self._cache[key]  # type: ignore[no-any-return]

    def remember(self, kind: str, probe: Probe, make: Callable[[], T]) -> T:
        return self._kept((kind, probe.values, _layouts(probe)), make)

    # What a call is made of

    def inputs(self, probe: Probe) -> dict[str, Any]:
        return self._cached("inputs", probe, lambda: draw_inputs(self.task.contract, probe, self.seed, self._generator))

    def parameter_specs(self, probe: Probe) -> tuple[ParameterSpec, ...]:
        """Names, shapes and kinds of the model's parameters and buffers at the probe's sizes."""
        init = self.task.contract.init_args(probe.axes)

        def make() -> tuple[ParameterSpec, ...]:
            state = self._construct(init).state_dict()
            return tuple(ParameterSpec(n, tuple(t.shape), t.is_floating_point()) for n, t in state.items())

        return self._kept(("specs", repr(init)), make)

    def parameters(self, probe: Probe) -> dict[str, Tensor] | None:
        """Redrawn parameters by name; None where the probe keeps the constructed ones."""
        specs = self.parameter_specs(probe)

        def make() -> dict[str, Tensor] | None:
            return draw_parameters(self.task.contract, probe, specs, self.seed)

        # Those of a network are drawn again each time: a hundred probes of ten million parameters would fill the memory.
        large = sum(math.prod(spec.shape) for spec in specs) > MOST_KEPT
        return make() if large else self._cached("parameters", probe, make)

    def cotangents(self, probe: Probe) -> tuple[Tensor, ...]:
        """Cotangents for a gradient probe."""
        return self._cached("cotangents", probe, lambda: draw_cotangents(self.truth(probe), probe, self.seed))

    def _construct(self, init: tuple[Any, ...]) -> nn.Module:
        with seeded(MODEL_SEED):
            return self._module.Model(*init)  # type: ignore[no-any-return]

    def model(self, probe: Probe, dtype: torch.dtype) -> nn.Module:
        """A new model in a dtype, holding the values that the candidate's dtype can hold."""
        model = self._construct(self.task.contract.init_args(probe.axes)).to(torch_dtype(probe.dtype))
        return eager.load(model, self.parameters(probe)).to(dtype)

    # What is true

    def truth(self, probe: Probe) -> tuple[Tensor, ...]:
        return self._cached("truth", probe, lambda: self._truth(probe))

    def _truth(self, probe: Probe) -> tuple[Tensor, ...]:
        with torch.no_grad():
            if self._reference is not None:
                return self._refer(self._reference.forward, probe)
            if self.task.contract.random:
                return self._draws(probe)[0]
            model, args = self.model(probe, torch.float64), eager.place(self.inputs(probe), torch.float64)
            return self.twin(model, args)

    def _draws(self, probe: Probe) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Mean and variance of the twin's outputs over the random numbers that the model draws itself."""

        def make() -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
            runs = []
            for seed in range(RANDOM_DRAWS):
                model, args = self.model(probe, torch.float64), eager.place(self.inputs(probe), torch.float64)
                with torch.no_grad(), seeded(seed):
                    runs.append(self.twin(model, args))
            stacked = [torch.stack(outputs) for outputs in zip(*runs, strict=True)]
            # Torch warns of the variance of what has no elements.
            variances = (x.var(0) if x.numel() else x[0] for x in stacked)
            return tuple(x.mean(0) for x in stacked), tuple(x * (1 + 1 / RANDOM_DRAWS) for x in variances)

        return self._cached("draws", probe, make)

    def twin(self, model: nn.Module, args: dict[str, Any]) -> tuple[Tensor, ...]:
        """The float64 twin's outputs, cloned: a model may return a buffer of its own."""
        with widened():
            return tuple(output.clone() for output in eager.as_tuple(model(*args.values())))

    def magnitude(self, probe: Probe) -> tuple[Tensor, ...] | None:
        if self._reference is None:
            return self._twin_magnitude(probe)
        twin = getattr(self._reference, "magnitude", None)
        if twin is None:
            return None
        with torch.no_grad():
            return self._cached("magnitude", probe, lambda: self._refer(twin, probe))

    def _twin_magnitude(self, probe: Probe) -> tuple[Tensor, ...] | None:
        """For a linear task, the model on absolute values: the sum of the sizes of all that is added up."""
        reduction = self.task.contract.reduction
        if reduction is None or not reduction.linear:
            return None

        def make() -> tuple[Tensor, ...]:
            model = self.model(probe, torch.float64)
            args = eager.place(self.inputs(probe), torch.float64)
            with torch.no_grad():
                for value in model.state_dict().values():
                    if value.is_floating_point():
                        value.abs_()
                sizes = {k: v.abs() if isinstance(v, Tensor) and v.is_floating_point() else v for k, v in args.items()}
                return self.twin(model, sizes)

        return self._cached("magnitude", probe, make)

    def _refer(self, function: Callable[..., Any], probe: Probe) -> tuple[Tensor, ...]:
        args = eager.place(self.inputs(probe), torch.float64)
        init = self.task.contract.init_args(probe.axes)
        return eager.as_tuple(function(*args.values(), params=self._state64(probe), init=init))

    def _state64(self, probe: Probe) -> dict[str, Tensor]:
        state = self.model(probe, torch.float64).state_dict()
        return {name: value.detach().clone() for name, value in state.items()}

    def estimate(self, probe: Probe) -> Estimate:
        return self._cached("estimate", probe, lambda: self._estimate(probe))

    def _estimate(self, probe: Probe) -> Estimate:
        model = self.model(probe, torch.float64)

        def run() -> tuple[Tensor, ...]:
            args = eager.place(self.inputs(probe), torch.float64)
            with torch.no_grad(), Factories():
                return eager.as_tuple(model(*args.values()))

        found = self._noise(run, probe, f"{self.seed}/{probe.id}")
        if not self.task.contract.random:
            return found
        _, variances = self._draws(probe)
        sigma = tuple((own.square() + spread).sqrt() for own, spread in zip(found.sigma, variances, strict=True))
        return dataclasses.replace(found, sigma=sigma)

    def eager(self, probe: Probe, dtype: str = "") -> Observation:
        # Whether the eager model copes with a memory layout depends on the layout.
        return self._kept(("eager", probe.values, _layouts(probe), dtype), lambda: self._run_eager(probe, 1, dtype))

    def steady(self, probe: Probe) -> bool:
        """Whether the eager model gives the same bytes in all of a probe's repeats, on the device where it runs.

        Some of torch's own kernels add with atomics on a GPU, and what is built on them cannot be held to more.
        """
        return self._cached("steady", probe, lambda: len(set(self._run_eager(probe, probe.world.repeats, "").repeats)) <= 1)

    def _eager(self, probe: Probe, repeats: int, dtype: str) -> Observation:
        runs = [self.observe(probe, MODEL_SEED, dtype) for _ in range(repeats)]
        if not all(run.ok for run in runs):
            return runs[0]
        digests = (hashlib.sha256(b"".join(record.data for record in run.outputs)).hexdigest() for run in runs)
        return dataclasses.replace(runs[0], repeats=tuple(digests))

    def observe(self, probe: Probe, seed: int, dtype: str = "") -> Observation:
        """What the eager model shows for a probe in this process.

        Args:
            probe: The probe.
            seed: Of the random numbers that the model draws itself, if it does.
            dtype: Of the call, whose operands are those of the probe; the probe's if not given.
        """
        held = torch_dtype(dtype or probe.dtype)
        model, args = self.model(probe, held), eager.place(self.inputs(probe), held)
        names = self.gradient_names(probe) if probe.gradient else ()
        cotangents = self.cotangents(probe) if probe.gradient else ()
        # The seed is global to the process: only a model that needs it makes the other threads wait.
        with seeded(seed) if self.task.contract.random else nullcontext():
            return eager.observe(model, args, gradients=names, cotangents=cotangents)

    # Gradients

    def gradient_names(self, probe: Probe) -> tuple[str, ...]:
        gradient = self.task.contract.gradient
        if gradient is None:
            return ()
        # How many parameters there are can depend on a size, such as the number of layers.
        here = {spec.name for spec in self.parameter_specs(probe)} if gradient.parameters else set()
        names = [name for name in gradient.parameters if name in here]
        return (*(f"input:{name}" for name in gradient.inputs), *(f"parameter:{name}" for name in names))

    def gradient_truth(self, probe: Probe) -> dict[str, Tensor]:
        return self._cached("gradient truth", probe, lambda: self._gradient_truth(probe))

    def _gradient_truth(self, probe: Probe) -> dict[str, Tensor]:
        args = eager.place(self.inputs(probe), torch.float64)
        names = self.gradient_names(probe)
        if self._reference is None:
            return self._twin_gradient(probe, args, names)
        reference = self._reference
        state = {n: t.requires_grad_(f"parameter:{n}" in names) for n, t in self._state64(probe).items()}
        init = self.task.contract.init_args(probe.axes)

        def function(*values: Any) -> tuple[Tensor, ...]:
            return eager.as_tuple(reference.forward(*values, params=state, init=init))

        _, grads = eager.vjp(function, args, state, names, self.cotangents(probe))
        leaves = {**{f"input:{n}": v for n, v in args.items()}, **{f"parameter:{n}": v for n, v in state.items()}}
        return {name: torch.zeros_like(leaves[name]) if grad is None else grad.detach() for name, grad in grads.items()}

    def _twin_gradient(self, probe: Probe, args: dict[str, Any], names: tuple[str, ...]) -> dict[str, Tensor]:
        model = self.model(probe, torch.float64)
        parameters = dict(model.named_parameters())
        leaves = {**{f"input:{n}": v for n, v in args.items()}, **{f"parameter:{n}": v for n, v in parameters.items()}}

        def function(*values: Any) -> tuple[Tensor, ...]:
            with widened():
                return eager.as_tuple(model(*values))

        _, grads = eager.vjp(function, args, parameters, names, self.cotangents(probe))
        return {name: torch.zeros_like(leaves[name]) if grad is None else grad.detach() for name, grad in grads.items()}

    def gradient_estimate(self, probe: Probe) -> Estimate:
        return self._cached("gradient estimate", probe, lambda: self._gradient_estimate(probe))

    def _gradient_estimate(self, probe: Probe) -> Estimate:
        model = self.model(probe, torch.float64)
        args = eager.place(self.inputs(probe), torch.float64)
        names = self.gradient_names(probe)
        leaves = {**{f"input:{n}": v for n, v in args.items()}, **{f"parameter:{n}": v for n, v in model.named_parameters()}}
        cotangents = self.cotangents(probe)

        def run() -> tuple[Tensor, ...]:
            with Factories():
                _, grads = eager.vjp(
                    lambda *a: eager.as_tuple(model(*a)), args, dict(model.named_parameters()), names, cotangents
                )
            return tuple(torch.zeros_like(leaves[n]) if g is None else g for n, g in grads.items())

        gradient = self.task.contract.gradient
        return self._noise(run, probe, f"{self.seed}/{probe.id}/gradient", 1.0 if gradient is None else gradient.noise_factor)

    def _noise(self, run: Callable[[], tuple[Tensor, ...]], probe: Probe, seed: str, factor: float = 1.0) -> Estimate:
        contract = self.task.contract
        regime = contract.precision if probe.dtype == "float32" else "ieee"
        found = estimate(run, regime=regime, store=probe.dtype, seed=seed)
        return dataclasses.replace(found, sigma=tuple(factor * contract.noise_factor * sigma for sigma in found.sigma))


def _layouts(probe: Probe) -> str:
    return json.dumps(dict(probe.world.layouts), sort_keys=True)
