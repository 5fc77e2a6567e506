"""From a probe's recipes to tensors: the one place where a run's secret seed becomes inputs, parameters and cotangents.

Workers never draw. They receive the bytes made here, so a submission sees neither recipes nor seeds, and a reproduction script
that holds the same recipes and keys makes the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kcbench.domain.contract import Contract
from kcbench.domain.probe import Probe, Recipe
from kcbench.numerics.fills import fill
from kcbench.numerics.formats import format_of
from kcbench.oracle.generate import Generator, generator_seed


class Drawn(NamedTuple):
    """A recipe made ready for :func:`kcbench.numerics.fills.fill`."""

    recipe: dict[str, Any]
    key: str
    flush: bool
    """Replace subnormal values by zero afterwards (the oracle's own question, never a worker's input)."""


class ParameterSpec(NamedTuple):
    """One entry of the task model's state dict."""

    name: str
    shape: tuple[int, ...]
    floating: bool


def resolve(recipe: Recipe, axes: Mapping[str, int], *, seed: str, stream: str, name: str) -> Drawn:
    """Settle what a recipe leaves open: axis names become sizes, and its stream becomes part of the key."""
    settled = dict(recipe)
    stream = str(settled.pop("stream", stream))
    flush = bool(settled.pop("flush", False))
    if "base" in settled:
        settled["base"] = resolve(settled["base"], axes, seed=seed, stream=stream, name=name).recipe
    if isinstance(settled.get("high"), str):
        settled["high"] = axes[settled["high"]]
    return Drawn(settled, f"{seed}/{stream}/{name}", flush)


def from_problem(recipe: Recipe) -> bool:
    """Whether the values come from the problem's own ``get_inputs``."""
    while "base" in recipe:
        recipe = recipe["base"]
    return bool(recipe["kind"] == "problem")


def draw_tensor(
    recipe: Recipe,
    shape: tuple[int, ...],
    dtype: str,
    axes: Mapping[str, int],
    *,
    seed: str,
    stream: str,
    name: str,
    given: Tensor | None = None,
) -> Tensor:
    """A CPU tensor for one operand."""
    drawn = resolve(recipe, axes, seed=seed, stream=stream, name=name)
    tensor = fill(drawn.recipe, shape, dtype, drawn.key, given)
    if drawn.flush and tensor.is_floating_point():
        tensor = torch.where(tensor.abs().to(torch.float64) < format_of(dtype).smallest_normal, torch.zeros_like(tensor), tensor)
    return tensor


def draw_inputs(contract: Contract, probe: Probe, seed: str, generate: Generator | None = None) -> dict[str, Any]:
    """All inputs of a probe by name: CPU tensors in the probe's dtype, tensors of other dtypes, or Python scalars.

    Args:
        contract: The task's contract.
        probe: The probe.
        seed: The run's secret.
        generate: The task's own generator, for recipes of the kind ``problem``.
    """
    drawn: dict[str, Any] = {}
    for index, item in enumerate(contract.inputs):
        if item.kind == "scalar":
            drawn[item.name] = item.value
            continue
        recipe, given = probe.inputs[item.name], None
        if from_problem(recipe) and generate is not None:
            given = generate(probe.axes, problem_key(recipe, seed, probe.stream))[index]
        if item.kind == "given" and given is not None:
            drawn[item.name] = given
            continue
        dtype = probe.dtype if item.kind == "float" else "int64"
        shape = contract.shape(item, probe.axes)
        drawn[item.name] = draw_tensor(
            recipe, shape, dtype, probe.axes, seed=seed, stream=probe.stream, name=f"input:{item.name}", given=given
        )
    return drawn


def problem_key(recipe: Recipe, seed: str, stream: str) -> str:
    """The key of a draw by the problem's own generator: one for all inputs, so that what ties them together stays."""
    return f"{seed}/{recipe.get('stream', stream)}/problem"


def draw_parameters(contract: Contract, probe: Probe, specs: tuple[ParameterSpec, ...], seed: str) -> dict[str, Tensor] | None:
    """Redrawn floating parameters and buffers by name, in the probe's dtype; None where the probe keeps the constructed ones.

    Those whose recipe is ``problem`` stay as they were constructed.
    """
    if probe.parameters is None:
        return None
    return {
        spec.name: draw_tensor(
            parameter_recipe(contract, probe, spec.name),
            spec.shape,
            probe.dtype,
            probe.axes,
            seed=seed,
            stream=probe.stream,
            name=f"parameter:{spec.name}",
        )
        for spec in specs
        if spec.floating and not from_problem(parameter_recipe(contract, probe, spec.name))
    }


def parameter_recipe(contract: Contract, probe: Probe, name: str) -> Recipe:
    """The probe's recipe for a parameter, or the contract's, or a normal one."""
    mine = (probe.parameters or {}).get(name)
    return mine if mine is not None else contract.parameters.get(name, {"kind": "normal"})


def draw_cotangents(outputs: tuple[Tensor, ...], probe: Probe, seed: str) -> tuple[Tensor, ...]:
    """A random cotangent per output, rounded to the probe's dtype."""
    return tuple(
        draw_tensor(
            probe.cotangent,
            tuple(output.shape),
            probe.dtype,
            probe.axes,
            seed=seed,
            stream=probe.stream,
            name=f"cotangent:{index}",
        )
        for index, output in enumerate(outputs)
    )


def call_json(
    contract: Contract, probe: Probe, specs: tuple[ParameterSpec, ...], seed: str, outputs: tuple[tuple[int, ...], ...]
) -> dict[str, Any]:
    """The call of a probe as data, recipes and keys included: what a reproduction script embeds.

    An input that the problem's own ``get_inputs`` makes has the key ``given``: its place there, and the sizes and the seed of the
    draw. A dtype of None is whatever comes out of it, and ``{"tuple": [...]}`` among the constructor arguments is a tuple.

    Args:
        contract: The task's contract.
        probe: The probe.
        specs: State dict of the task's model at the probe's sizes.
        seed: The run's seed.
        outputs: Shapes of the outputs, for the cotangents of a gradient probe.
    """
    inputs: list[dict[str, Any]] = []
    for index, item in enumerate(contract.inputs):
        if item.kind == "scalar":
            inputs.append({"name": item.name, "kind": "scalar", "value": item.value})
            continue
        recipe = probe.inputs[item.name]
        drawn = resolve(recipe, probe.axes, seed=seed, stream=probe.stream, name=f"input:{item.name}")
        entry: dict[str, Any] = {
            "name": item.name,
            "kind": "tensor",
            "shape": list(contract.shape(item, probe.axes)),
            "dtype": {"float": probe.dtype, "given": None}.get(item.kind, "int64"),
            "recipe": drawn.recipe,
            "key": drawn.key,
            "layout": probe.world.layouts.get(item.name, "contiguous"),
        }
        if from_problem(recipe):
            key = problem_key(recipe, seed, probe.stream)
            entry["given"] = {"index": index, "sizes": dict(probe.axes), "seed": generator_seed(key)}
        inputs.append(entry)
    parameters = None
    if probe.parameters is not None:
        parameters = []
        for spec in specs:
            if spec.floating and not from_problem(parameter_recipe(contract, probe, spec.name)):
                drawn = resolve(
                    parameter_recipe(contract, probe, spec.name),
                    probe.axes,
                    seed=seed,
                    stream=probe.stream,
                    name=f"parameter:{spec.name}",
                )
                parameters.append(
                    {"name": spec.name, "shape": list(spec.shape), "dtype": probe.dtype, "recipe": drawn.recipe, "key": drawn.key}
                )
    cotangents = []
    for index, shape in enumerate(outputs if probe.gradient else ()):
        drawn = resolve(probe.cotangent, probe.axes, seed=seed, stream=probe.stream, name=f"cotangent:{index}")
        cotangents.append({"shape": list(shape), "dtype": probe.dtype, "recipe": drawn.recipe, "key": drawn.key})
    return {
        "probe": probe.to_json(),
        "init": [_tagged(argument) for argument in contract.init_args(probe.axes)],
        "inputs": inputs,
        "parameters": parameters,
        "model_dtype": probe.dtype,
        "seed": MODEL_SEED,
        "cotangents": cotangents,
    }


def _tagged(argument: Any) -> Any:
    """A constructor argument as JSON holds it, which has no tuples."""
    if isinstance(argument, tuple):
        return {"tuple": [_tagged(item) for item in argument]}
    return [_tagged(item) for item in argument] if isinstance(argument, list) else argument


MODEL_SEED = 42
"""Seed in force while a model is constructed, as KernelBench does it."""
