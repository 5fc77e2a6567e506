"""Sigma: from noisy draws to a standard deviation per output element, and from an error to its z."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kcbench.numerics.constants import constants
from kcbench.numerics.formats import FORMATS
from kcbench.numerics.stochastic.mode import CastMode, NoiseMode
from kcbench.numerics.stochastic.noise import Noise, Phase
from kcbench.numerics.stochastic.precision import Precision

KAPPA = constants().kappa
"""Largest z of an honest kernel.

Set once, from these measurements: with eight draws and the shrinkage below, a perfect model over 3e6 outputs
reaches 6.4; on 29 problems and 606 honest re-implementations in ieee float32 the worst z was 6.3, on an H200 eager and compiled
kernels stay at or under 4.1 in all regimes, while 16-bit accumulators reach 104 to 3,980. It is not tuned per kernel or dtype.
"""

DRAWS_FEW = 32
"""Least number of draws where an output has fewer than :data:`FEW` elements.

With M draws z of an honest scalar follows Student's t with M degrees of freedom. P(|t| > 8) is 4e-5 for M = 8 and 4e-9 for M =
32. Neighbours, which mend this for large outputs, do not exist there.
"""
FEW = 16

_NEIGHBOURS = 65
_PRIOR_WEIGHT = 4
_LIVE_RUNS = 4
_LIVE_SCALE = 8.0
_FLIP = 2.0


@dataclass(frozen=True)
class Estimate:
    """What rounding may do to the outputs of one evaluation."""

    center: tuple[Tensor, ...]
    """The noise-free result of each output."""
    sigma: tuple[Tensor, ...]
    """Standard deviation per element, shrunk; 0 where the centre is not finite, and for exact operations."""
    ambiguous: tuple[Tensor, ...]
    """Elements that a rounding may move across a jump: left out of judgement."""
    vacuous: bool
    """Rounding is amplified so far (a chaotic reference) that comparing values says nothing; check step by step."""
    blackbox: tuple[str, ...]
    """Operations that had no rule of their own."""
    draws: int = 0
    relative: float = 0.0
    """The largest relative sigma (root mean squares) over the outputs, which ``vacuous`` was decided on."""


def estimate(run: Callable[[], Sequence[Tensor]], *, regime: str, store: str, draws: int = 8, seed: str) -> Estimate:
    """Estimate the standard deviation that rounding gives each output of ``run``.

    Args:
        run: Evaluates the reference in float64 on operands rounded to the candidate's dtype and returns the outputs, gradients
            included where they are wanted. It is called some ten to forty times and must be a function of its operands alone:
            copies of parameters made inside it would be rounded. What it draws from torch's global generator is the same each
            time, and is drawn once in the end.
        regime: ``ieee`` or ``tf32``: what float32 contractions may do to their operands.
        store: The dtype in which eager stores between operations. Accumulation is in float32 for 16-bit dtypes.
        draws: Number of noisy runs; raised to :data:`DRAWS_FEW` where an output has fewer than :data:`FEW` elements.
        seed: Equal seeds give equal estimates.

    Raises:
        ValueError: If the regime or dtype is unknown, or ``draws`` is not positive.
    """
    if draws < 1:
        raise ValueError("at least one draw is needed")
    precision = Precision.of(regime, store)
    mode = NoiseMode(Noise(precision, seed))
    with _slow_path:
        state = torch.get_rng_state()
        with CastMode():
            # Cloned, for a model may return a buffer that its next run changes.
            center = [y.detach().clone() for y in run()]
        end = torch.get_rng_state()
        random = not torch.equal(state, end)

        def noisy(phase: Phase, stream: int = 0, scale: float = 1.0) -> list[Tensor]:
            if random:
                torch.set_rng_state(state)
            mode.begin(phase, stream=stream, scale=scale, sign=1 if stream % 2 == 0 else -1)
            with mode:
                outputs = run()
            return [y.detach() for y in outputs]

        recorded = noisy(Phase.RECORD)
        count = max(draws, DRAWS_FEW) if any(y.numel() < FEW for y in center) else draws
        lost = [torch.zeros(y.shape, dtype=torch.bool, device=y.device) for y in center]
        raw = [torch.zeros(y.shape, dtype=torch.float64, device=y.device) for y in center]
        for stream in range(count):
            for y, c, square in zip(noisy(Phase.DRAW, stream), center, raw, strict=True):
                if c.is_floating_point():
                    difference = (y - c).double()
                    square.addcmul_(difference, difference)
        sigma = []
        for square, c, bad in zip(raw, center, lost, strict=True):
            # What only noise makes non-finite lies on an edge, such as the root of a difference of equals.
            edge = ~torch.isfinite(square)
            if bool(edge.any()):
                square.masked_fill_(edge, 0.0)
                bad |= edge & torch.isfinite(c)
            sigma.append(shrunk(square / count, c, count) * precision.rescale if c.is_floating_point() else square)
        for y, c, s, bad in zip(recorded, center, sigma, lost, strict=True):
            # The rules' own formulas agree with torch's to float64 rounding, but for ties that the two break differently.
            bad |= _moved(y, c, s + 1e-9 * c.double().abs())
        if mode.noise.decisions:
            _find_flips(noisy, mode.noise, center, sigma, lost)
        if random:
            torch.set_rng_state(end)
    relative = max((_relative(c, s, bad) for c, s, bad in zip(center, sigma, lost, strict=True)), default=0.0)
    return Estimate(
        center=tuple(center),
        sigma=tuple(sigma),
        ambiguous=tuple(lost),
        vacuous=relative > precision.chaotic,
        blackbox=tuple(mode.blackbox),
        draws=count,
        relative=relative,
    )


class _SlowPath:
    """Keeps torch from fusing a transformer layer into one opaque operation while any estimate runs.

    The switch is global to the process, so the first estimate to begin sets it and the last to end restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0
        self._was = True

    def __enter__(self) -> None:
        with self._lock:
            if not self._active:
                self._was = torch.backends.mha.get_fastpath_enabled()
                torch.backends.mha.set_fastpath_enabled(False)
            self._active += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._active -= 1
            if not self._active:
                torch.backends.mha.set_fastpath_enabled(self._was)


_slow_path = _SlowPath()


def _moved(y: Tensor, reference: Tensor, slack: Tensor) -> Tensor:
    """Where two results differ by more than a slack; NaN and equal infinities agree with themselves."""
    same = (y == reference) | ((y != y) & (reference != reference))
    return ~same & ~((y.double() - reference.double()).abs() <= slack)


def _find_flips(
    noisy: Callable[[Phase, int, float], list[Tensor]],
    noise: Noise,
    center: Sequence[Tensor],
    sigma: Sequence[Tensor],
    lost: Sequence[Tensor],
) -> None:
    """Mark the elements that hang on a decision.

    A run that takes its decisions anew at eight times the noise is compared with the same noise under the recorded decisions:
    what differs hangs on one. Differences under two sigma are let pass: they cannot refuse an honest kernel, and a sum over
    many elements always has some.
    """
    for stream in range(1000, 1000 + _LIVE_RUNS):
        live = noisy(Phase.LIVE, stream, _LIVE_SCALE)
        if not noise.flips:
            continue
        kept = noisy(Phase.DRAW, stream, _LIVE_SCALE)
        for y, frozen, c, s, bad in zip(live, kept, center, sigma, lost, strict=True):
            bad |= _moved(y, frozen if c.is_floating_point() else c, _FLIP * s)


def shrunk(raw: Tensor, center: Tensor, draws: int) -> Tensor:
    """Standard deviation from the mean squares of a few draws, drawn towards that of outputs of like size.

    ``s^2 = (M raw + 4 prior) / (M + 4)`` with prior the mean of ``raw`` over the 65 elements nearest in rank of |y*|. Unshrunk, a
    perfect model over 3e6 outputs reaches z of 14 to 22 at M = 8, and 6.4 shrunk. Where y* is zero (a dead ReLU) s is at least
    the root mean square of s, since an exact zero in float64 may be a rounding residue in any honest order.

    Args:
        raw: Mean squared deviation per element, any shape.
        center: The noise-free result, same shape.
        draws: Number M of draws behind ``raw``.
    """
    judged = torch.isfinite(center)
    whole = bool(judged.all())
    values = raw.flatten() if whole else raw[judged]
    if not values.numel():
        return torch.zeros_like(raw)
    sizes = (center.flatten() if whole else center[judged]).abs()
    if values.numel() <= _NEIGHBOURS:
        prior = values.mean().expand_as(values)
    else:
        order = sizes.argsort()
        ranked = values[order]
        half = _NEIGHBOURS // 2
        means = ranked.unfold(0, _NEIGHBOURS, 1).mean(-1)
        # Near both ends the window is the nearest full one.
        smooth = torch.cat([means[:1].expand(half), means, means[-1:].expand(half)])
        prior = torch.empty_like(values)
        prior[order] = smooth
    variance = (values * draws + prior * _PRIOR_WEIGHT) / (draws + _PRIOR_WEIGHT)
    zero = sizes == 0
    if bool(zero.any()):
        variance = torch.where(zero, torch.maximum(variance, variance.mean()), variance)
    if whole:
        return variance.sqrt_().view(raw.shape)
    result = torch.zeros_like(raw)
    result[judged] = variance.sqrt()
    return result


def _relative(center: Tensor, sigma: Tensor, lost: Tensor) -> float:
    """Ratio of the root mean squares of sigma and the result; 0 for a result that is nothing but rounding of an exact zero."""
    judged = torch.isfinite(center) & ~lost if center.is_floating_point() else torch.zeros_like(lost)
    if not bool(judged.any()):
        return 0.0
    noise = math.sqrt(sigma[judged].square().mean().item())
    size = math.sqrt(center[judged].square().mean().item())
    # A gradient that vanishes identically has a float64 residue eight digits below sigma; chaos leaves the two within a few.
    return 0.0 if noise == 0.0 or size < 1e-4 * noise else noise / size


def z_score(error: Tensor, truth: Tensor, sigma: Tensor, *, dtype: str) -> Tensor:
    """How many sigma an error exceeds the output's own rounding by: ``(|err| - u_out |y*| - eta) / sigma``, at least 0.

    Where sigma is 0 the answer is 0 or infinity. Where the truth is not finite it is 0: the class masks are compared elsewhere,
    also
    for results that overflow in ``dtype`` and not in float64. A non-finite error against a finite truth is infinite.

    Args:
        error: Candidate minus truth, in float64.
        truth: The noise-free result.
        sigma: :attr:`Estimate.sigma` of the output.
        dtype: The candidate's output dtype; for dtypes without rounding (integers) the error must be 0.
    """
    truth = truth.double()
    allowed = torch.zeros_like(truth)
    if dtype in FORMATS:
        form = FORMATS[dtype]
        # An output may be flushed where the format has subnormals that hardware flushes; float16's are always kept.
        eta = form.smallest_subnormal if dtype == "float16" else form.smallest_normal
        allowed = form.u * truth.abs() + eta
    excess = torch.where(error.isfinite(), error.double().abs(), math.inf) - allowed
    z = torch.where(sigma > 0, excess / sigma, math.inf)
    return torch.where((excess <= 0) | ~truth.isfinite(), 0.0, z)
