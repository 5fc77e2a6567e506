"""Mamba-3 for callers: checked arguments, ``torch.autograd.Function``, and the launches of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from native_kernels.mamba3.carry import carry
from native_kernels.mamba3.gradients import gradients
from native_kernels.mamba3.read import read
from native_kernels.mamba3.step import step
from native_kernels.mamba3.turn import turn, turn_back

ROWS = 64
"""Rows of a chunk's tile: tokens times ranks."""
BLOCK_KEY = 16
"""Keys that a tile of a chunk holds: no operand of a product may have fewer, and more leave registers for less."""
TURNED = 32
"""Rows that the kernels that turn take at a time."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a call, as the kernels take them."""

    heads: int
    key: int
    angles: int
    rank: int
    value: int

    @property
    def ranks(self) -> int:
        """Rows of a token."""
        return triton.next_power_of_2(self.rank)

    @property
    def tokens(self) -> int:
        """Tokens of a chunk."""
        return ROWS // self.ranks

    @property
    def pairs(self) -> int:
        """Pairs of keys that a tile holds."""
        return triton.next_power_of_2(self.key // 2)

    @property
    def block_value(self) -> int:
        """Channels of v that a tile of a chunk holds."""
        return min(32, max(BLOCK_KEY, triton.next_power_of_2(self.value)))

    @property
    def key_blocks(self) -> int:
        """Tiles that all keys take."""
        return triton.cdiv(self.key, BLOCK_KEY)

    @property
    def value_blocks(self) -> int:
        """Tiles that all channels of v take."""
        return triton.cdiv(self.value, self.block_value)

    def turning(self) -> dict[str, int]:
        """Constants of the kernels that turn."""
        shape = {"KEY": self.key, "ANGLES": self.angles, "RANK": self.rank, "TOKENS": max(1, TURNED // self.ranks)}
        return {**shape, "BLOCK_PAIRS": self.pairs, "BLOCK_RANK": self.ranks, "num_warps": 8}

    def chunkwise(self) -> dict[str, Any]:
        """Constants of the kernels that multiply tiles."""
        shape = {"KEY": self.key, "VALUE": self.value, "RANK": self.rank, "TOKENS": self.tokens}
        blocks = {"BLOCK_KEY": BLOCK_KEY, "BLOCK_VALUE": self.block_value, "BLOCK_RANK": self.ranks}
        # Products of 16-bit operands are exact. In 32 bits, three products of parts keep nearly all digits on tensor cores.
        return {**shape, **blocks, "PRECISION": "tf32x3", "num_warps": 8, "num_stages": 1}

    def stepping(self) -> dict[str, int]:
        """Constants of the kernel for a few tokens."""
        shape = {"KEY": self.key, "VALUE": self.value, "ANGLES": self.angles, "RANK": self.rank}
        return {
            **shape,
            "BLOCK_PAIRS": self.pairs,
            "BLOCK_VALUE": self.block_value,
            "BLOCK_RANK": min(4, self.ranks),
            "num_warps": 8,
        }


@dataclass(frozen=True)
class Chunks:
    """Where sequences and their chunks lie among the tokens."""

    bounds: Tensor
    """First token of each sequence, and the end of the last one."""
    offsets: Tensor
    """First chunk of each sequence, and the number of all."""
    owners: Tensor
    """Sequence of each chunk; as many as there can be, the number of sequences for those that are not."""

    @classmethod
    def of(cls, bounds: Tensor, tokens: int, length: int) -> Chunks:
        """Cut sequences into chunks of ``length`` tokens, without waiting for the device."""
        bounds = bounds.to(torch.int64)
        counts = (bounds.diff() + length - 1) // length
        offsets = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
        most = torch.arange(tokens // length + len(counts), device=bounds.device)
        return cls(bounds, offsets, torch.searchsorted(offsets, most, right=True) - 1)

    @property
    def most(self) -> int:
        """Chunks that there can be."""
        return len(self.owners)

    @property
    def sequences(self) -> int:
        """Sequences, the empty ones included."""
        return len(self.bounds) - 1


class _Mamba3(torch.autograd.Function):
    """All operands have a dimension of tokens first, where they have one, and one of ranks."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        adt: Tensor,
        dt: Tensor,
        trap: Tensor,
        q_bias: Tensor,
        k_bias: Tensor,
        angles: Tensor,
        skip: Tensor,
        mimo_v: Tensor | None,
        mimo_o: Tensor | None,
        bounds: Tensor,
    ) -> Tensor:
        operands = (q, k, v, adt, dt, trap, q_bias, k_bias, angles, skip, mimo_v, mimo_o)
        q, k, v, adt, dt, trap, q_bias, k_bias, angles, skip, mimo_v, mimo_o = (
            x if x is None else x.contiguous() for x in operands
        )
        sizes = Sizes(q.shape[1], q.shape[3], angles.shape[-1], q.shape[2], v.shape[-1])
        chunks = Chunks.of(bounds, len(q), sizes.tokens)
        phases = torch.empty(angles.shape, dtype=torch.float32, device=q.device)
        turned_q, turned_k, out = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        turn[(chunks.sequences, sizes.heads)](
            *(q, k, q_bias, k_bias, angles, dt, chunks.bounds, phases, turned_q, turned_k, sizes.heads), **sizes.turning()
        )
        coefficients = (adt, dt, trap)
        states = _carried(turned_k, v, mimo_v, coefficients, sizes, chunks, back=False)
        _read(turned_q, turned_k, v, mimo_v, None, mimo_o, coefficients, skip, states, sizes, chunks, out=out)
        ctx.sizes, ctx.chunks = sizes, chunks
        ctx.save_for_backward(turned_q, turned_k, v, mimo_v, mimo_o, *coefficients, skip, q_bias, k_bias, angles, phases, states)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        turned_q, turned_k, v, mimo_v, mimo_o, *coefficients, skip, q_bias, k_bias, angles, phases, states = ctx.saved_tensors
        adt, dt, trap = coefficients
        sizes, chunks = ctx.sizes, ctx.chunks
        d_out = d_out.contiguous()

        def space(*shape: int) -> Tensor:
            return torch.empty(shape, dtype=torch.float32, device=v.device)

        def summed(x: Tensor, like: Tensor, dims: int | tuple[int, ...] = 0) -> Tensor:
            return x.sum(dims).to(like.dtype)

        d_states = _carried(turned_q, d_out, mimo_o, coefficients, sizes, chunks, back=True)
        d_v, d_mimo_v, d_mimo_o = torch.empty_like(v), None, None
        turned = (turned_q, turned_k)
        if mimo_v is None:
            _read(*turned, d_out, None, None, None, coefficients, skip, d_states, sizes, chunks, out=d_v, back=True)
        else:
            # Chunks that are not are not written, and they are added up with the others.
            sums = [space(chunks.most, sizes.heads, sizes.rank, sizes.value).zero_() for _ in range(2)]
            _read(
                *turned, d_out, mimo_o, v, mimo_v, coefficients, skip, d_states, sizes, chunks, out=d_v, sums=sums[0], back=True
            )
            _read(*turned, v, mimo_v, d_out, None, coefficients, skip, states, sizes, chunks, sums=sums[1])
            d_mimo_v, d_mimo_o = summed(sums[0], mimo_v), summed(sums[1], mimo_o)

        d_turned_q, d_turned_k = space(*turned_q.shape), space(*turned_k.shape)
        parts = [space(sizes.key_blocks, *dt.shape) for _ in range(3)]
        d_skip = space(chunks.most, sizes.heads).zero_()
        gradients[(chunks.most, sizes.heads, sizes.key_blocks)](
            *(turned_q, turned_k, v, d_out, mimo_v, mimo_o, adt, dt, trap, states, d_states),
            *(chunks.bounds, chunks.offsets, chunks.owners, d_turned_q, d_turned_k, *parts, d_skip),
            *(len(v), sizes.heads, chunks.sequences),
            **sizes.chunkwise(),
        )
        d_adt, d_now, d_after = (part.sum(0) for part in parts)

        dq, dk, d_angles = torch.empty_like(turned_q), torch.empty_like(turned_k), torch.empty_like(angles)
        d_dt, d_trap = torch.empty_like(dt), torch.empty_like(trap)
        d_biases = [space(chunks.sequences, sizes.heads, sizes.rank, sizes.key) for _ in range(2)]
        turn_back[(chunks.sequences, sizes.heads)](
            *(turned_q, turned_k, d_turned_q, d_turned_k, angles, dt, trap, phases, d_now, d_after, chunks.bounds),
            *(dq, dk, *d_biases, d_angles, d_dt, d_trap, sizes.heads),
            **sizes.turning(),
        )
        dq_bias, dk_bias = summed(d_biases[0], q_bias), summed(d_biases[1], k_bias)
        tokens = (dq, dk, d_v, d_adt.to(adt.dtype), d_dt, d_trap)
        return (*tokens, dq_bias, dk_bias, d_angles, summed(d_skip, skip), d_mimo_v, d_mimo_o, None)


def _carried(
    vectors: Tensor,
    values: Tensor,
    scale: Tensor | None,
    coefficients: Sequence[Tensor],
    sizes: Sizes,
    chunks: Chunks,
    *,
    back: bool,
) -> Tensor:
    """States before all chunks, [chunk, head, value, key]; with ``back`` their gradients behind them."""
    states = torch.empty((chunks.most, sizes.heads, sizes.value, sizes.key), dtype=torch.float32, device=values.device)
    carry[(chunks.sequences, sizes.heads, sizes.key_blocks * sizes.value_blocks)](
        *(vectors, values, scale, *coefficients, chunks.bounds, chunks.offsets, states, sizes.heads),
        BACK=back,
        **sizes.chunkwise(),
    )
    return states


def _read(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    scale: Tensor | None,
    others: Tensor | None,
    mix: Tensor | None,
    coefficients: Sequence[Tensor],
    skip: Tensor,
    states: Tensor,
    sizes: Sizes,
    chunks: Chunks,
    *,
    out: Tensor | None = None,
    sums: Tensor | None = None,
    back: bool = False,
) -> None:
    """Launch ``read``, whose arguments these are."""
    read[(chunks.most, sizes.heads, sizes.value_blocks)](
        *(queries, keys, values, scale, others, mix, *coefficients, skip, states, chunks.bounds, chunks.offsets, chunks.owners),
        *(out, sums, sizes.heads, chunks.sequences),
        BACK=back,
        **sizes.chunkwise(),
    )


def mamba3(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    adt: Tensor,
    dt: Tensor,
    trap: Tensor,
    q_bias: Tensor,
    k_bias: Tensor,
    angles: Tensor,
    D: Tensor,
    *,
    mimo_v: Tensor | None = None,
    mimo_o: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
) -> Tensor:
    """Mamba-3 over whole sequences, from states of zeros; differentiable in all but the boundaries.

    Args:
        q: Queries, [batch, time, head, key], or [batch, time, head, rank, key] with several inputs and outputs.
        k: Keys, like q.
        v: Values, [batch, time, head, value].
        adt: Log-decays, [batch, time, head], not positive.
        dt: Steps, like adt, positive.
        trap: Logits of the share of a token in its own step, like adt.
        q_bias: [head, key], or [head, rank, key].
        k_bias: Like q_bias.
        angles: [batch, time, head, angles], at most half as many as keys.
        D: Weight of the direct path, [head].
        mimo_v: Factors of v for each rank, [head, rank, value].
        mimo_o: Factors of the outputs of each rank, like mimo_v.
        cu_seqlens: Boundaries of the sequences in a batch of one, [sequences + 1].

    Returns:
        Outputs, like v.

    Raises:
        ValueError: Where the kernels have no room for the sizes, or one of mimo_v and mimo_o is missing.
    """
    sizes = _sizes(q, v, angles, mimo_v, mimo_o)
    batch, time = v.shape[:2]
    if not v.numel():
        # Nothing to compute, and still a function of all inputs.
        return v + sum(x.sum() for x in (q, k, adt, dt, trap, q_bias, k_bias, angles, D, mimo_v, mimo_o) if x is not None).to(
            v.dtype
        )
    bounds = torch.arange(0, (batch + 1) * time, time, device=v.device) if cu_seqlens is None else cu_seqlens
    vectors = (x.reshape(batch * time, sizes.heads, sizes.rank, sizes.key) for x in (q, k))
    tokens = (x.flatten(0, 1) for x in (v, adt, dt, trap))
    biases = (x.reshape(sizes.heads, sizes.rank, sizes.key) for x in (q_bias, k_bias))
    out = _Mamba3.apply(*vectors, *tokens, *biases, angles.flatten(0, 1), D, mimo_v, mimo_o, bounds)
    return out.unflatten(0, (batch, time))


@torch.no_grad()
def mamba3_step(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    adt: Tensor,
    dt: Tensor,
    trap: Tensor,
    q_bias: Tensor,
    k_bias: Tensor,
    angles: Tensor,
    D: Tensor,
    state: Tensor,
    angle: Tensor,
    prev_k: Tensor,
    prev_v: Tensor,
    *,
    mimo_v: Tensor | None = None,
    mimo_o: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mamba-3 for a few new tokens; not differentiable.

    Args:
        q: Queries; shapes that are not given here are those of :func:`mamba3`.
        k: Keys.
        v: Values.
        adt: Log-decays.
        dt: Steps.
        trap: Logits.
        q_bias: Of the queries.
        k_bias: Of the keys.
        angles: Of the new tokens.
        D: Weight of the direct path.
        state: [batch, head, value, key].
        angle: Sum of the angles before, in radians, [batch, head, angles].
        prev_k: The last token's key, biased and turned, [batch, head, key], or [batch, head, rank, key].
        prev_v: Its values, [batch, head, value].
        mimo_v: Factors of v.
        mimo_o: Factors of the outputs.

    Returns:
        Outputs, and state, angle and key after the last token, all new.

    Raises:
        ValueError: As :func:`mamba3`.
    """
    sizes = _sizes(q, v, angles, mimo_v, mimo_o)
    batch, time = v.shape[:2]
    inputs = (q, k, v, adt, dt, trap, q_bias, k_bias, angles, D, mimo_v, mimo_o, state, angle, prev_k, prev_v)
    operands = [x if x is None else x.contiguous() for x in inputs]
    out = torch.empty_like(operands[2])
    new = [torch.empty_like(x) for x in operands[12:15]]
    if not v.numel():
        return out, state.clone(), angle.clone(), prev_k.clone()
    step[(batch, sizes.heads, sizes.value_blocks)](*operands, out, *new, time, sizes.heads, **sizes.stepping())
    return out, *new


def _sizes(q: Tensor, v: Tensor, angles: Tensor, mimo_v: Tensor | None, mimo_o: Tensor | None) -> Sizes:
    if (mimo_v is None) != (mimo_o is None):
        raise ValueError("mimo_v and mimo_o go together")
    sizes = Sizes(v.shape[2], q.shape[-1], angles.shape[-1], 1 if mimo_v is None else q.shape[-2], v.shape[3])
    if sizes.key % 2:
        raise ValueError(f"keys come in pairs, not {sizes.key}")
    if sizes.angles > sizes.key // 2:
        raise ValueError(f"{sizes.key} keys have at most {sizes.key // 2} angles, not {sizes.angles}")
    if sizes.rank > ROWS:
        raise ValueError(f"at most {ROWS} ranks, not {sizes.rank}")
    return sizes
