"""Recurrent networks, gate by gate, with the parameters that ``torch.nn`` gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from kcbench.formulas.activation import sigmoid
from kcbench.formulas.linear import linear

Step = Callable[[Tensor, tuple[Tensor, ...], str], tuple[Tensor, ...]]
"""Input of one step, state before and the parameters' suffix to the state after, whose first part is the output."""


def lstm(
    x: Tensor, params: Mapping[str, Tensor], state: Sequence[Tensor], *, layers: int, bidirectional: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """``i, f, g, o = W x + U h + b``; ``c = sigmoid(f) c + sigmoid(i) tanh(g)``; ``h = sigmoid(o) tanh(c)``.

    Args:
        x: ``[time, batch, in]``.
        params: ``weight_ih_l0`` and so on, as in ``nn.LSTM``; biases may be missing.
        state: ``h`` and ``c`` before the first step, each ``[layers * directions, batch, hidden]``.
        layers: Stacked on one another.
        bidirectional: A second direction reads from the end.

    Returns:
        ``[time, batch, directions * hidden]``, and the last ``h`` and ``c``.
    """

    def step(now: Tensor, before: tuple[Tensor, ...], suffix: str) -> tuple[Tensor, ...]:
        h, c = before
        i, f, g, o = (_affine(now, "ih", suffix, params) + _affine(h, "hh", suffix, params)).chunk(4, dim=-1)
        c = sigmoid(f) * c + sigmoid(i) * torch.tanh(g)
        return sigmoid(o) * torch.tanh(c), c

    y, (h, c) = _run(x, state, step, layers, bidirectional)
    return y, h, c


def gru(
    x: Tensor, params: Mapping[str, Tensor], state: Tensor, *, layers: int, bidirectional: bool = False
) -> tuple[Tensor, Tensor]:
    """``r, z = sigmoid(W x + U h + b)``; ``n = tanh(W x + b + r (U h + b))``; ``h = (1 - z) n + z h``.

    Args:
        x: ``[time, batch, in]``.
        params: ``weight_ih_l0`` and so on, as in ``nn.GRU``; biases may be missing.
        state: ``h`` before the first step, ``[layers * directions, batch, hidden]``.
        layers: Stacked on one another.
        bidirectional: A second direction reads from the end.

    Returns:
        ``[time, batch, directions * hidden]``, and the last ``h``.
    """

    def step(now: Tensor, before: tuple[Tensor, ...], suffix: str) -> tuple[Tensor, ...]:
        (h,) = before
        r_x, z_x, n_x = _affine(now, "ih", suffix, params).chunk(3, dim=-1)
        r_h, z_h, n_h = _affine(h, "hh", suffix, params).chunk(3, dim=-1)
        z = sigmoid(z_x + z_h)
        return ((1 - z) * torch.tanh(n_x + sigmoid(r_x + r_h) * n_h) + z * h,)

    y, (h,) = _run(x, (state,), step, layers, bidirectional)
    return y, h


def _affine(value: Tensor, which: str, suffix: str, params: Mapping[str, Tensor]) -> Tensor:
    return linear(value, params[f"weight_{which}_{suffix}"], params.get(f"bias_{which}_{suffix}"))


def _run(x: Tensor, state: Sequence[Tensor], step: Step, layers: int, bidirectional: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    directions = 2 if bidirectional else 1
    last: list[tuple[Tensor, ...]] = []
    for layer in range(layers):
        sides = []
        for direction in range(directions):
            now = tuple(part[layer * directions + direction] for part in state)
            suffix = f"l{layer}_reverse" if direction else f"l{layer}"
            outputs = []
            for t in range(x.shape[0]) if not direction else reversed(range(x.shape[0])):
                now = step(x[t], now, suffix)
                outputs.append(now[0])
            sides.append(torch.stack(outputs[::-1] if direction else outputs))
            last.append(now)
        x = torch.cat(sides, dim=-1)
    return x, tuple(torch.stack(part) for part in zip(*last, strict=True))
