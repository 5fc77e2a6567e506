"""Noise of operations, as the tests of the rules look at it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kcbench.numerics.stochastic.mode import NoiseMode
from kcbench.numerics.stochastic.noise import Noise, Phase
from kcbench.numerics.stochastic.precision import Precision

U = 2.0**-24


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def rms_deviation(run: Callable[[], Tensor], store: str = "float32", regime: str = "ieee", draws: int = 64) -> Tensor:
    """Unshrunk deviation per element over some draws."""
    mode = NoiseMode(Noise(Precision.of(regime, store), "rms"))
    mode.begin(Phase.RECORD)
    with mode:
        center = run()
    total = torch.zeros_like(center)
    for stream in range(draws):
        mode.begin(Phase.DRAW, stream=stream, sign=1 - 2 * (stream % 2))
        with mode:
            y = run()
        total += (y - center).square()
    return (total / draws).sqrt()
