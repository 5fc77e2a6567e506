"""Functions that several kernels call: the wrapped phases, the coefficients of a chunk, rows to tokens and back.

A chunk holds ``TOKENS`` tokens and the tile of a kernel a row for each rank of each of them, the ranks of a token side by side.
"""

import triton
import triton.language as tl

PI = tl.constexpr(3.141592653589793)


@triton.jit
def tanh(x):
    """The hyperbolic tangent to two units in the last place, near zero as well; Triton's interpreter has none."""
    size = tl.abs(x)
    decayed = tl.exp(-2.0 * size)
    far = (1.0 - decayed) / (1.0 + decayed)
    square = x * x
    near = size * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0 - square * (17.0 / 315.0))))
    return tl.where(x < 0, -1.0, 1.0) * tl.where(size < 0.15, near, far)


@triton.jit
def tanh_slope(x):
    """The derivative of the hyperbolic tangent, without the difference in 1 - tanh(x)^2."""
    decayed = tl.exp(-2.0 * tl.abs(x))
    return 4.0 * decayed / ((1.0 + decayed) * (1.0 + decayed))


@triton.jit
def wrapped(phase):
    """A phase in half turns, less whole turns: from -1 to 1. The difference is exact."""
    return phase - 2.0 * tl.floor(phase * 0.5 + 0.5)


@triton.jit
def by_rows(x, RANKS: tl.constexpr):
    """Repeat each token's vector for each of its rows: [tokens, width] to [tokens * RANKS, width]."""
    tokens: tl.constexpr = x.shape[0]
    width: tl.constexpr = x.shape[1]
    return tl.reshape(tl.broadcast_to(x[:, None, :], (tokens, RANKS, width)), (tokens * RANKS, width))


@triton.jit
def over_ranks(x, RANKS: tl.constexpr):
    """Sums over the rows of each token: [tokens * RANKS, width] to [tokens, width]."""
    rows: tl.constexpr = x.shape[0]
    width: tl.constexpr = x.shape[1]
    return tl.sum(tl.reshape(x, (rows // RANKS, RANKS, width)), axis=1)


@triton.jit
def over_tokens(x, RANKS: tl.constexpr):
    """Sums over the tokens for each rank: [tokens * RANKS, width] to [RANKS, width]."""
    rows: tl.constexpr = x.shape[0]
    width: tl.constexpr = x.shape[1]
    return tl.sum(tl.reshape(x, (rows // RANKS, RANKS, width)), axis=0)


@triton.jit
def coefficients(adt, dt, trap, at, step, lead, inside, followed):
    """What a chunk's rows weigh.

    Args:
        adt: Where the log-decays are.
        dt: Where the steps are.
        trap: Where the logits of the shares are.
        at: Offset of each row's token in them.
        step: Distance from a token to the next in them.
        lead: Whether the row is the first of its token.
        inside: Whether the row is one of the sequence's.
        followed: Whether its token has a next one in the sequence.

    Returns:
        log: Sum of the log-decays from the chunk's first token to the row's own, itself included.
        total: Sum of all of them.
        now: What a token adds to the state it is read from at once, sigmoid(trap) dt.
        after: What of it later tokens find, before decay: the same, and the next token's share of it.
    """
    own = tl.load(adt + at, mask=inside & lead, other=0.0).to(tl.float32)
    log, total = tl.cumsum(own, 0), tl.sum(own, 0)
    now = tl.sigmoid(tl.load(trap + at, mask=inside, other=0.0).to(tl.float32))
    now *= tl.load(dt + at, mask=inside, other=0.0).to(tl.float32)
    # 1 - sigmoid(x) as sigmoid(-x), which does not cancel.
    late = tl.sigmoid(-tl.load(trap + at + step, mask=inside & followed, other=0.0).to(tl.float32))
    late *= tl.load(dt + at + step, mask=inside & followed, other=0.0).to(tl.float32)
    return log, total, now, now + late


@triton.jit
def decay_between(log, place):
    """Decay from the token of each column to that of each row, where the row is later; zero elsewhere."""
    later = place[:, None] > place[None, :]
    return tl.where(later, tl.exp(tl.where(later, log[:, None] - log[None, :], 0.0)), 0.0)
