"""Noise: the random state of one estimate, and the roundings that rules apply with it.

One :class:`Noise` serves all runs of an estimate. :meth:`Noise.start` begins a run; within it the operations come in a fixed
order, so what depends on the operands only to first order (standard deviations) or must not change between runs (decisions) is
kept by position.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.precision import Precision

_STOCK = 1 << 18
_CHUNK = 1 << 16
_FEW = 8
_MEMO_ELEMENTS = 1 << 26
_FACTOR_UNITS = frozenset((0.5, 1.0, 2.0))
_SMALL = 2.0**-90
"""Below this size the flush error of a result is comparable to its roundoff."""

Stock = tuple[Tensor, Tensor]
"""A stock of random numbers for tensors of ordinary size, and one for tensors of few elements."""


class Phase(Enum):
    """What a run is for."""

    RECORD = "record"
    """No noise; standard deviations and decisions are written down."""
    DRAW = "draw"
    """Noise, with the recorded decisions: what sigma is made of."""
    LIVE = "live"
    """Noise, with decisions taken anew: what shows which elements hang on one."""


@lru_cache(maxsize=4)
def _normals(device: str) -> Stock:
    """A fixed stock of standard normals, and of their signs.

    Drawing a fresh float64 normal costs thirty times an addition, a view into a stock costs nothing; 2 MiB stay in the cache. The
    second half is the negated first half, so that a random offset also has a random sign, and long tensors made of several pieces
    stay uncorrelated. A piece is shorter than half of it, and meets no number twice.
    """
    half = torch.randn(_STOCK // 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0x5EED))
    normals = torch.cat([half, -half]).to(device)
    return normals, normals.sign()


@lru_cache(maxsize=32)
def _factors(device: str, amount: float, shared: float) -> Stock:
    """A stock of factors ``1 + shared + amount xi``."""
    normals, signs = _normals(device)
    return normals * amount + (1.0 + shared), signs * amount + (1.0 + shared)


class Noise:
    """Random state and memory of one estimate.

    Args:
        precision: The roundings to model.
        seed: Any string; equal seeds give equal noise.
    """

    def __init__(self, precision: Precision, seed: str) -> None:
        self.precision = precision
        self._seed = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:7], "big")
        self._generator = torch.Generator()
        self._memo: list[tuple[torch.Size, Any]] = []
        self._memo_elements = 0
        self._decisions: list[Any] = []
        self._flushes: list[bool] = []
        self.recurse: Callable[..., Any] = lambda fn, *args, **kwargs: fn(*args, **kwargs)
        """Runs a decomposition with its operations rounded at the inner level; set by the mode."""
        self.start(Phase.RECORD)

    def start(self, phase: Phase, *, stream: int = 0, scale: float = 1.0, sign: int = 1) -> None:
        """Begin a run.

        Args:
            phase: What the run is for.
            stream: Runs of equal stream draw equal noise.
            scale: Multiplies all noise; 0 while recording.
            sign: The sign g that all systematic errors of the run share.
        """
        self.phase = phase
        self.scale = 0.0 if phase is Phase.RECORD else scale
        self.g = sign
        self.u = self.precision.u * self.scale
        self.flips = 0
        self._memo_at = 0
        self._rounded_at = 0
        self._decision_at = 0
        self._generator.manual_seed((self._seed + 0x9E3779B97F4A7C15 * (stream + 1)) % (1 << 63))
        self._offsets: list[int] = []
        self._block = 32

    @property
    def decisions(self) -> int:
        """How many decisions were recorded."""
        return len(self._decisions)

    # Random numbers

    def _offset(self) -> int:
        if not self._offsets:
            self._offsets = torch.randint(0, 1 << 48, (self._block,), generator=self._generator).tolist()
            self._block = min(2 * self._block, 4096)
        return self._offsets.pop()

    def sign(self) -> int:
        """A random sign: a standard error that all elements of one operation share."""
        return 1 if self._offset() & 1 else -1

    def xi(self, like: Tensor) -> Tensor:
        """Standard noise in the shape of a tensor. Read-only: it is a view of a stock.

        Tensors of a few elements get random signs instead of normals: their variance is the same, but no run draws almost
        nothing, which would leave a scalar's sigma to chance.
        """
        return self._view(_normals("cpu" if like.is_cpu else str(like.device)), like)

    def _view(self, stock: Stock, like: Tensor) -> Tensor:
        count = like.numel()
        if count > _CHUNK:
            sizes = [_CHUNK] * (count // _CHUNK) + ([count % _CHUNK] if count % _CHUNK else [])
            pieces = [stock[0].narrow(0, self._offset() % (_STOCK - size), size) for size in sizes]
            return torch.cat(pieces).view(like.shape)
        chosen = stock[0] if count >= _FEW else stock[1]
        offset = self._offset() % (_STOCK - count)
        if like.is_contiguous():
            return chosen.as_strided(like.shape, like.stride(), offset)
        return chosen.narrow(0, offset, count).view(like.shape)

    def _factor(self, like: Tensor, units: float, shared: float) -> Tensor:
        """``1 + shared + units u xi`` in the shape of a tensor. Multiplying keeps zeros and infinities what they are."""
        if units in _FACTOR_UNITS:
            return self._view(_factors("cpu" if like.is_cpu else str(like.device), units * self.u, shared), like)
        return torch.mul(self.xi(like), units * self.u).add_(1.0 + shared)

    # Roundings. They change their argument in place where its name is ``fresh``: it must be nobody else's.

    def rounded(self, fresh: Tensor, units: float = 0.5) -> Tensor:
        """Round a result in place: ``units`` roundoffs per element, half a roundoff that all share, and the flush error.

        The flush error is added where the tensor holds values that it matters to; an exact zero next to ordinary values stays
        zero.
        """
        at = self._rounded_at
        self._rounded_at += 1
        if not self.scale:
            self._flushes.append(bool(((fresh != 0) & (fresh.abs() < _SMALL)).any()))
            return fresh
        fresh.mul_(self._factor(fresh, units, 0.5 * self.u * self.sign()))
        if at < len(self._flushes) and self._flushes[at]:
            fresh.add_(self.precision.tiny)
        return fresh

    def shifted(self, fresh: Tensor, units: float = 1.0) -> Tensor:
        """Add ``units`` roundoffs of absolute noise in place: the error of a small result that is a difference of ones."""
        return fresh.add_(self.xi(fresh), alpha=units * self.u) if self.scale else fresh

    def jittered(self, x: Tensor, units: float = 1.0) -> Tensor:
        """A copy of an operand with ``units`` roundoffs of relative noise per element."""
        return x * self._factor(x, units, 0.0) if self.scale else x

    def deviation(self, sd: Tensor, terms: float = 1.0) -> Tensor:
        """A standard deviation made fit for :meth:`spread`: finite, and with the flush error of ``terms`` results.

        It is 0 where the result is exact.

        Where a result is not finite there is nothing to spread, and infinity times noise would be NaN.
        """
        return torch.nan_to_num(torch.where(sd > 0, sd + self.precision.tiny * terms, 0.0), 0.0, 0.0, 0.0)

    def spread(self, fresh: Tensor, sd: Tensor) -> Tensor:
        """Add noise of a given standard deviation, stated at scale 1 and finite, in place."""
        return fresh.addcmul_(self.xi(fresh), sd, value=self.scale) if self.scale else fresh

    def stored(self, fresh: Tensor) -> None:
        """Round to the storage dtype in place: what eager does to a result that another operation reads."""
        if not self.scale or not self.precision.store:
            return
        xi = self.xi(fresh)
        if self.precision.store_eta and not fresh.is_complex():
            # A uniform error over one spacing has a deviation of 0.29 of it. The sign keeps exact zeros exact.
            fresh.addcmul_(fresh.sign(), xi, value=0.29 * self.precision.store_eta * self.scale)
        fresh.mul_(torch.mul(xi, 0.5 * self.precision.store * self.scale).add_(1.0))

    # Memory over the runs

    def memo(self, like: Tensor, make: Callable[[], Any]) -> Any:
        """A tensor or tuple of tensors made in the first run and kept for the others, by position.

        Standard deviations depend on the operands only through their leading digits, so one run's values serve all runs. If a run
        takes another path, or the memory is spent, the value is made again.
        """
        at = self._memo_at
        self._memo_at += 1
        if at < len(self._memo):
            shape, value = self._memo[at]
            if value is not None and shape == like.shape:
                return value
            return make()
        value = make()
        kept = value if self._memo_elements < _MEMO_ELEMENTS else None
        if kept is not None:
            self._memo_elements += sum(t.numel() for t in (kept if isinstance(kept, tuple) else (kept,)) if t is not None)
        self._memo.append((like.shape, kept))
        return value

    def decide(self, make: Callable[[], Any]) -> Any:
        """The result of a discontinuous operation: recorded, repeated, or taken anew and compared, as the phase asks."""
        at = self._decision_at
        self._decision_at += 1
        if self.phase is Phase.RECORD:
            value = make()
            self._decisions.append(value.clone() if isinstance(value, Tensor) else value)
            return value
        recorded = self._decisions[at] if at < len(self._decisions) else None
        if self.phase is Phase.DRAW and recorded is not None:
            return recorded.clone() if isinstance(recorded, Tensor) else recorded
        value = make()
        if isinstance(value, Tensor):
            same = isinstance(recorded, Tensor) and recorded.shape == value.shape and bool(torch.equal(recorded, value))
        else:
            same = recorded == value
        self.flips += not same
        return value
