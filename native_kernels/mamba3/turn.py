"""The kernels that rotate queries and keys by phases that add up from token to token, and their gradient.

Rotated vectors are kept with the first of each pair in the front half and the second in the back half: products of queries with
keys do not depend on the order. Phases are kept in half turns and without whole turns, so that they lose no digits as they grow.
"""

import triton
import triton.language as tl

from native_kernels.mamba3.parts import PI, by_rows, over_ranks, over_tokens, tanh, tanh_slope, wrapped


@triton.jit
def turn(
    q,
    k,
    q_bias,
    k_bias,
    angles,
    dt,
    bounds,
    phases,
    turned_q,
    turned_k,
    heads,
    KEY: tl.constexpr,
    ANGLES: tl.constexpr,
    RANK: tl.constexpr,
    TOKENS: tl.constexpr,
    BLOCK_PAIRS: tl.constexpr,
    BLOCK_RANK: tl.constexpr,
):
    """Phases, and queries and keys with their bias, turned. A program takes a head of a sequence, chunk after chunk."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    start, end = tl.load(bounds + sequence), tl.load(bounds + sequence + 1)
    row = tl.arange(0, TOKENS * BLOCK_RANK)
    rank = row % BLOCK_RANK
    pair = tl.arange(0, BLOCK_PAIRS)
    turning = pair < ANGLES
    paired = pair < KEY // 2
    own = (head * RANK + rank)[:, None] * KEY + 2 * pair[None, :]
    real = (rank < RANK)[:, None] & paired[None, :]
    carried = tl.zeros((BLOCK_PAIRS,), tl.float32)
    for first in range(start, end, TOKENS):
        token = first + tl.arange(0, TOKENS)
        at = token * heads + head
        known = (token < end)[:, None] & turning[None, :]
        spot = at[:, None] * ANGLES + pair[None, :]
        rate = tanh(tl.load(angles + spot, mask=known, other=0.0).to(tl.float32))
        turns = rate * tl.load(dt + at, mask=token < end, other=0.0).to(tl.float32)[:, None]
        phase = wrapped(tl.cumsum(turns, 0) + carried[None, :])
        carried = wrapped(tl.sum(turns, 0) + carried)
        tl.store(phases + spot, phase, mask=known)
        cos, sin = by_rows(tl.cos(phase * PI), BLOCK_RANK), by_rows(tl.sin(phase * PI), BLOCK_RANK)
        place = first + row // BLOCK_RANK
        inside = (place < end)[:, None] & real
        source = ((place * heads + head) * RANK + rank)[:, None] * KEY + 2 * pair[None, :]
        target = ((place * heads + head) * RANK + rank)[:, None] * KEY + pair[None, :]
        _rotate(q + source, q_bias + own, turned_q + target, cos, sin, inside, real, KEY)
        _rotate(k + source, k_bias + own, turned_k + target, cos, sin, inside, real, KEY)


@triton.jit
def _rotate(x, bias, turned, cos, sin, inside, real, KEY: tl.constexpr):
    """Rotate the pairs at x, biased, and store them in halves."""
    a = tl.load(x, mask=inside, other=0.0).to(tl.float32) + tl.load(bias, mask=real, other=0.0).to(tl.float32)
    b = tl.load(x + 1, mask=inside, other=0.0).to(tl.float32) + tl.load(bias + 1, mask=real, other=0.0).to(tl.float32)
    tl.store(turned, a * cos - b * sin, mask=inside)
    tl.store(turned + KEY // 2, a * sin + b * cos, mask=inside)


@triton.jit
def turn_back(
    turned_q,
    turned_k,
    d_turned_q,
    d_turned_k,
    angles,
    dt,
    trap,
    phases,
    d_now,
    d_after,
    bounds,
    dq,
    dk,
    dq_bias,
    dk_bias,
    d_angles,
    d_dt,
    d_trap,
    heads,
    KEY: tl.constexpr,
    ANGLES: tl.constexpr,
    RANK: tl.constexpr,
    TOKENS: tl.constexpr,
    BLOCK_PAIRS: tl.constexpr,
    BLOCK_RANK: tl.constexpr,
):
    """From the gradients of turned vectors and of coefficients to those of q, k, both biases, angles, dt and trap.

    A program takes a head of a sequence, from the last chunk to the first. A phase acts on all later tokens, so its gradient is a
    sum over them. The gradients of the biases are one sum a program, which the caller adds up.
    """
    sequence, head = tl.program_id(0), tl.program_id(1)
    start, end = tl.load(bounds + sequence), tl.load(bounds + sequence + 1)
    row = tl.arange(0, TOKENS * BLOCK_RANK)
    rank = row % BLOCK_RANK
    pair = tl.arange(0, BLOCK_PAIRS)
    turning = pair < ANGLES
    real = (rank < RANK)[:, None] & (pair < KEY // 2)[None, :]
    carried = tl.zeros((BLOCK_PAIRS,), tl.float32)
    front_q = tl.zeros((BLOCK_RANK, BLOCK_PAIRS), tl.float32)
    back_q = tl.zeros((BLOCK_RANK, BLOCK_PAIRS), tl.float32)
    front_k = tl.zeros((BLOCK_RANK, BLOCK_PAIRS), tl.float32)
    back_k = tl.zeros((BLOCK_RANK, BLOCK_PAIRS), tl.float32)
    chunks = (end - start + TOKENS - 1) // TOKENS
    for done in range(chunks):
        first = start + (chunks - 1 - done) * TOKENS
        token = first + tl.arange(0, TOKENS)
        at = token * heads + head
        inside = token < end
        known = inside[:, None] & turning[None, :]
        spot = at[:, None] * ANGLES + pair[None, :]
        phase = tl.load(phases + spot, mask=known, other=0.0)
        cos, sin = by_rows(tl.cos(phase * PI), BLOCK_RANK), by_rows(tl.sin(phase * PI), BLOCK_RANK)

        place = first + row // BLOCK_RANK
        rows = (place < end)[:, None] & real
        vector = ((place * heads + head) * RANK + rank)[:, None] * KEY + pair[None, :]
        whole = vector + pair[None, :]
        front, back, moment_q = _unrotate(turned_q + vector, d_turned_q + vector, dq + whole, cos, sin, rows, KEY)
        front_q += over_tokens(front, BLOCK_RANK)
        back_q += over_tokens(back, BLOCK_RANK)
        front, back, moment_k = _unrotate(turned_k + vector, d_turned_k + vector, dk + whole, cos, sin, rows, KEY)
        front_k += over_tokens(front, BLOCK_RANK)
        back_k += over_tokens(back, BLOCK_RANK)

        moment = tl.where(known, over_ranks(moment_q + moment_k, BLOCK_RANK) * PI, 0.0)
        d_turns = tl.cumsum(moment, 0, reverse=True) + carried[None, :]
        carried += tl.sum(moment, 0)
        step = tl.load(dt + at, mask=inside, other=0.0).to(tl.float32)
        angle = tl.load(angles + spot, mask=known, other=0.0).to(tl.float32)
        tl.store(d_angles + spot, d_turns * step[:, None] * tanh_slope(angle), mask=known)

        # A token's own weight is part * dt, and (1 - part) * dt is added to what the one before it left.
        preceded = inside & (token > start)
        own = tl.load(d_now + at, mask=inside, other=0.0) + tl.load(d_after + at, mask=inside, other=0.0)
        before = tl.load(d_after + at - heads, mask=preceded, other=0.0)
        logit = tl.load(trap + at, mask=inside, other=0.0).to(tl.float32)
        part, rest = tl.sigmoid(logit), tl.sigmoid(-logit)
        d_step = tl.sum(tl.where(known, d_turns * tanh(angle), 0.0), 1) + part * own + rest * before
        tl.store(d_dt + at, d_step, mask=inside)
        tl.store(d_trap + at, step * (own - before) * part * rest, mask=inside)

    ranks = tl.arange(0, BLOCK_RANK)
    bias = (((sequence * heads + head) * RANK + ranks)[:, None] * KEY + 2 * pair[None, :]).to(tl.int64)
    kept = (ranks < RANK)[:, None] & (pair < KEY // 2)[None, :]
    tl.store(dq_bias + bias, front_q, mask=kept)
    tl.store(dq_bias + bias + 1, back_q, mask=kept)
    tl.store(dk_bias + bias, front_k, mask=kept)
    tl.store(dk_bias + bias + 1, back_k, mask=kept)


@triton.jit
def _unrotate(turned, gradient, out, cos, sin, rows, KEY: tl.constexpr):
    """Rotate a gradient back and store it in pairs; returns its halves, and the gradient of the angle."""
    da = tl.load(gradient, mask=rows, other=0.0)
    db = tl.load(gradient + KEY // 2, mask=rows, other=0.0)
    a = tl.load(turned, mask=rows, other=0.0).to(tl.float32)
    b = tl.load(turned + KEY // 2, mask=rows, other=0.0).to(tl.float32)
    front, back = da * cos + db * sin, db * cos - da * sin
    tl.store(out, front, mask=rows)
    tl.store(out + 1, back, mask=rows)
    return front, back, a * db - b * da
