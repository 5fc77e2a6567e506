"""Probe: one experiment on a model, described as data.

A probe names the sizes, the dtype, the recipe of each input and parameter, the state of the world around the call and what is
to be observed. It holds no tensor: recipes are turned into bytes by :mod:`kcbench.numerics.fills`, keyed by the run seed and
the probe's ``stream``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Recipe = Mapping[str, Any]
"""A fill recipe as JSON: ``{"kind": "normal", "std": 1.0}``. The catalogue is in :mod:`kcbench.numerics.fills`."""

NORMAL: Recipe = {"kind": "normal"}
"""Independent standard normal numbers."""


@dataclass(frozen=True)
class World:
    """The state of the world around a call."""

    layouts: Mapping[str, str] = field(default_factory=dict)
    """Memory layout per input name: ``contiguous`` (default), ``transposed``, ``strided``, ``offset`` or ``channels_last``."""
    repeats: int = 1
    """How often the same call is made on the same input tensors."""
    disturb: tuple[str, ...] = ()
    """What happens between repeats: ``dirty`` (poisoned allocator), ``busy`` (loaded stream)."""
    stream: str = "default"
    """``default`` or ``side``: the CUDA stream that is current during the call."""
    instance: str = "shared"
    """Calls with the same instance name, constructor arguments and dtype share one model object."""
    occurrence: int = 0
    """Tells apart two runs of an otherwise identical probe within one session."""


@dataclass(frozen=True)
class Probe:
    """One experiment: input recipes, sizes, dtype, world, and what to observe."""

    label: str
    """What a person calls it, for example ``lognormal`` or ``dim=127``. Not part of the identity."""
    axes: Mapping[str, int]
    """A size for every axis of the contract."""
    dtype: str
    """Floating dtype of the call: ``float32``, ``float16``, ``bfloat16`` or ``float64``."""
    inputs: Mapping[str, Recipe]
    """A recipe for every input of the contract, by name."""
    parameters: Mapping[str, Recipe] | None = None
    """Recipes by parameter or buffer name; ``{}`` redraws all by the contract's defaults; None keeps the constructed values."""
    stream: str = "main"
    """Names the random stream: probes of one stream draw the same base values."""
    world: World = field(default_factory=World)
    gradient: bool = False
    """Whether a VJP with a random cotangent is taken."""
    cotangent: Recipe = field(default_factory=lambda: NORMAL)
    """A recipe for the cotangents."""

    @cached_property
    def id(self) -> str:
        """Digest of everything but the label: equal probes are run once and may serve several gates."""
        body = self.to_json()
        del body["label"]
        return _digest(body)

    @cached_property
    def values(self) -> str:
        """Digest of what the numbers of a call follow from, whatever the world around it: not label, nor world."""
        body = self.to_json()
        del body["label"], body["world"]
        return _digest(body)

    def to_json(self) -> dict[str, Any]:
        """The probe as JSON-ready data."""
        world = self.world
        return {
            "label": self.label,
            "axes": dict(self.axes),
            "dtype": self.dtype,
            "inputs": {name: dict(recipe) for name, recipe in self.inputs.items()},
            "parameters": None if self.parameters is None else {k: dict(v) for k, v in self.parameters.items()},
            "stream": self.stream,
            "world": {
                "layouts": dict(world.layouts),
                "repeats": world.repeats,
                "disturb": list(world.disturb),
                "stream": world.stream,
                "instance": world.instance,
                "occurrence": world.occurrence,
            },
            "gradient": self.gradient,
            "cotangent": dict(self.cotangent),
        }


def _digest(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
