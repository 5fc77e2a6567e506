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


def draw_tensor(
    recipe: Recipe, shape: tuple[int, ...], dtype: str, axes: Mapping[str, int], *, seed: str, stream: str, name: str
) -> Tensor:
    """A CPU tensor for one operand."""
    drawn = resolve(recipe, axes, seed=seed, stream=stream, name=name)
    tensor = fill(drawn.recipe, shape, dtype, drawn.key)
    if drawn.flush and tensor.is_floating_point():
        tensor = torch.where(tensor.abs().to(torch.float64) < format_of(dtype).smallest_normal, torch.zeros_like(tensor), tensor)
    return tensor


def draw_inputs(contract: Contract, probe: Probe, seed: str) -> dict[str, Any]:
    """All inputs of a probe by name: CPU tensors in the probe's dtype, int64 tensors, or Python scalars."""
    drawn: dict[str, Any] = {}
    for item in contract.inputs:
        if item.kind == "scalar":
            drawn[item.name] = item.value
            continue
        dtype = probe.dtype if item.kind == "float" else "int64"
        shape = contract.shape(item, probe.axes)
        drawn[item.name] = draw_tensor(
            probe.inputs[item.name], shape, dtype, probe.axes, seed=seed, stream=probe.stream, name=f"input:{item.name}"
        )
    return drawn


def draw_parameters(contract: Contract, probe: Probe, specs: tuple[ParameterSpec, ...], seed: str) -> dict[str, Tensor] | None:
    """Redrawn floating parameters and buffers by name, in the probe's dtype; None where the probe keeps the constructed ones."""
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
        if spec.floating
    }


def parameter_recipe(contract: Contract, probe: Probe, name: str) -> Recipe:
    """The probe's recipe for a parameter, or the contract's, or a normal one."""
    mine = (probe.parameters or {}).get(name)
    return mine if mine is not None else contract.parameters.get(name, {"kind": "normal"})


def cotangent_recipe() -> Recipe:
    """How cotangents are drawn."""
    return {"kind": "normal"}


def draw_cotangents(outputs: tuple[Tensor, ...], probe: Probe, seed: str) -> tuple[Tensor, ...]:
    """A random cotangent per output, rounded to the probe's dtype."""
    return tuple(
        draw_tensor(
            cotangent_recipe(),
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

    Args:
        contract: The task's contract.
        probe: The probe.
        specs: State dict of the task's model at the probe's sizes.
        seed: The run's seed.
        outputs: Shapes of the outputs, for the cotangents of a gradient probe.
    """
    inputs: list[dict[str, Any]] = []
    for item in contract.inputs:
        if item.kind == "scalar":
            inputs.append({"name": item.name, "kind": "scalar", "value": item.value})
            continue
        drawn = resolve(probe.inputs[item.name], probe.axes, seed=seed, stream=probe.stream, name=f"input:{item.name}")
        inputs.append(
            {
                "name": item.name,
                "kind": "tensor",
                "shape": list(contract.shape(item, probe.axes)),
                "dtype": probe.dtype if item.kind == "float" else "int64",
                "recipe": drawn.recipe,
                "key": drawn.key,
                "layout": probe.world.layouts.get(item.name, "contiguous"),
            }
        )
    parameters = None
    if probe.parameters is not None:
        parameters = []
        for spec in specs:
            if spec.floating:
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
        drawn = resolve(cotangent_recipe(), probe.axes, seed=seed, stream=probe.stream, name=f"cotangent:{index}")
        cotangents.append({"shape": list(shape), "dtype": probe.dtype, "recipe": drawn.recipe, "key": drawn.key})
    return {
        "probe": probe.to_json(),
        "init": list(contract.init_args(probe.axes)),
        "inputs": inputs,
        "parameters": parameters,
        "model_dtype": probe.dtype,
        "seed": MODEL_SEED,
        "cotangents": cotangents,
    }


MODEL_SEED = 42
"""Seed in force while a model is constructed, as KernelBench does it."""
