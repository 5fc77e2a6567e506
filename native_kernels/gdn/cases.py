"""Inputs for checks of the recurrences, the float64 truth, and how errors are counted."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from native_kernels.gdn.call import Instance, Kernels
from native_kernels.gdn.members import Member
from native_kernels.gdn.ops import recurrence as chunkwise
from native_kernels.gdn.recurrence import recurrence

MEAN_GATE = {"mid": 0.11, "slow": 0.002, "fast": 0.82, "correlated": 0.044}
"""Mean of -g by regime; with ``correlated`` the keys also share a direction, at a cosine of about one half."""


@dataclass(frozen=True)
class Case:
    """One call, in the layout ``[batch, time, heads, ...]``, with the gradients of its results."""

    member: Member
    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor | None
    beta: Tensor | None
    state: Tensor
    dout: Tensor
    dlast: Tensor
    bounds: tuple[int, ...] | None = None
    """Where packed sequences begin, and their end."""

    @property
    def scale(self) -> float:
        """Factor of the output."""
        return 1 / math.sqrt(self.q.shape[3])

    @property
    def inputs(self) -> dict[str, Tensor]:
        """Those that the member takes, by the names of their gradients."""
        named = {"q": self.q, "k": self.k, "v": self.v, "g": self.g, "beta": self.beta, "state": self.state}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All tensors, those of the backward pass too."""
        return {**self.inputs, "dout": self.dout, "dlast": self.dlast}

    def with_tensors(self, **tensors: Tensor) -> Case:
        """The case with other tensors in place of some."""
        return replace(self, **tensors)  # type: ignore[arg-type]


def make_case(
    member: Member,
    tokens: int,
    key_dim: int = 64,
    value_dim: int = 64,
    *,
    batch: int = 1,
    heads: int = 1,
    group: int = 1,
    regime: str = "mid",
    dtype: torch.dtype = torch.bfloat16,
    bounds: tuple[int, ...] | None = None,
    seed: int = 0,
) -> Case:
    """Draw a case: q and k of unit length, v and the output's gradient standard normal, beta a sigmoid of it.

    Args:
        member: Which recurrence.
        tokens: Of each batch entry.
        key_dim: Of q and k.
        value_dim: Of v.
        batch: Entries; 1 with bounds.
        heads: Key heads.
        group: Value heads for each key head.
        regime: How fast the state decays: a key of :data:`MEAN_GATE`.
        dtype: Of q, k, v and the output's gradient.
        bounds: Where packed sequences begin, and their end.
        seed: Of the draw.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    values = heads * group
    q, k = normal(batch, tokens, heads, key_dim), normal(batch, tokens, heads, key_dim)
    if regime == "correlated":
        k = k / math.sqrt(key_dim) + torch.nn.functional.normalize(normal(batch, 1, heads, key_dim), dim=-1)
    q, k = (torch.nn.functional.normalize(x, dim=-1).to(dtype) for x in (q, k))
    v, dout = (normal(batch, tokens, values, value_dim).to(dtype) for _ in range(2))
    g = beta = None
    if member.gate != "none":
        shape = (batch, tokens, values, *((key_dim,) if member.gate == "channel" else ()))
        g = (-2 * MEAN_GATE[regime] * torch.rand(shape, generator=generator, dtype=torch.float64)).float()
    if member.delta:
        beta = torch.sigmoid(normal(batch, tokens, values)).to(dtype).float()
    sequences = batch if bounds is None else len(bounds) - 1
    state, dlast = (0.1 * normal(sequences, values, key_dim, value_dim).float() for _ in range(2))
    return Case(member, q, k, v, g, beta, state, dout, dlast, bounds)


def flat(x: Tensor, heads: int) -> Tensor:
    """``[batch * value_heads, time, ...]`` from ``[batch, time, heads, ...]``; key heads are repeated."""
    return x.repeat_interleave(heads // x.shape[2], dim=2).transpose(1, 2).flatten(0, 1)


def truth(case: Case) -> dict[str, Tensor]:
    """Output, last state and all gradients by the recurrence and autograd, in float64."""
    inputs = {name: x.double().requires_grad_() for name, x in case.inputs.items()}
    heads = case.v.shape[2]
    outputs, states = [], []
    for n, (entry, tokens) in enumerate(_sequences(case)):
        pieces = {name: flat(x[entry, tokens], heads) for name, x in inputs.items() if name != "state"}
        out, last = recurrence(
            case.member,
            pieces["q"],
            pieces["k"],
            pieces["v"],
            pieces.get("g"),
            pieces.get("beta"),
            inputs["state"][n],
            case.scale,
        )
        outputs.append(out.unflatten(0, (1, heads)).transpose(1, 2))
        states.append(last)
    out = torch.cat(outputs, dim=0 if case.bounds is None else 1)
    results = {"out": out, "last": torch.stack(states)}
    gradients = torch.autograd.grad(list(results.values()), list(inputs.values()), [case.dout.double(), case.dlast.double()])
    return {name: x.detach() for name, x in results.items()} | dict(zip(inputs, gradients, strict=True))


def by_kernels(case: Case, backend: Callable[[Instance], Kernels]) -> dict[str, Tensor]:
    """What the kernels of a backend make of a case, under the names of :func:`truth`."""
    inputs = {name: x.clone().requires_grad_() for name, x in case.inputs.items()}
    out, last = chunkwise(
        case.member,
        backend,
        inputs["q"],
        inputs["k"],
        inputs["v"],
        inputs.get("g"),
        inputs.get("beta"),
        initial_state=inputs["state"],
        output_final_state=True,
        cu_seqlens=None if case.bounds is None else torch.tensor(case.bounds),
    )
    assert last is not None
    gradients = torch.autograd.grad([out, last], list(inputs.values()), [case.dout, case.dlast])
    return {"out": out.detach(), "last": last.detach()} | dict(zip(inputs, gradients, strict=True))


def poisoned(case: Case, seed: int) -> tuple[Case, list[tuple[str, tuple[int, ...], float]]]:
    """One to three elements of the inputs and gradients made NaN or infinite."""
    draw = random.Random(seed)
    tensors = {name: x.clone() for name, x in case.tensors.items()}
    where = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        name = draw.choice(sorted(tensors))
        index = tuple(draw.randrange(size) for size in tensors[name].shape)
        value = draw.choice((float("nan"), float("inf")))
        tensors[name][index] = value
        where.append((name, index, value))
    return case.with_tensors(**tensors), where


def as_nan(case: Case) -> Case:
    """Infinities count as lost values too: the recurrence is asked with NaN in their place."""
    return case.with_tensors(**{name: torch.where(x.isfinite(), x, torch.nan) for name, x in case.tensors.items()})


def _sequences(case: Case) -> list[tuple[slice, slice]]:
    if case.bounds is None:
        return [(slice(n, n + 1), slice(None)) for n in range(case.q.shape[0])]
    return [(slice(0, 1), slice(start, end)) for start, end in itertools.pairwise(case.bounds)]


def error(found: Tensor, wanted: Tensor) -> float:
    """Norm of the difference over the norm of the truth."""
    return float(((found.double() - wanted).norm() / wanted.norm()).detach())
