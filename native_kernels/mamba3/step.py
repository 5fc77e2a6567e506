"""The kernel for a few new tokens, from the state that the tokens before them left."""

import triton
import triton.language as tl

from native_kernels.mamba3.parts import PI, tanh


@triton.jit
def step(
    q,
    k,
    v,
    adt,
    dt,
    trap,
    q_bias,
    k_bias,
    angles,
    skip,
    mimo_v,
    mimo_o,
    state,
    angle,
    prev_k,
    prev_v,
    out,
    new_state,
    new_angle,
    new_k,
    tokens,
    heads,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    ANGLES: tl.constexpr,
    RANK: tl.constexpr,
    BLOCK_PAIRS: tl.constexpr,
    BLOCK_VALUE: tl.constexpr,
    BLOCK_RANK: tl.constexpr,
):
    """Outputs, and state, angle and key after the last token. A program takes channels of a head of a batch entry."""
    entry, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own = entry * heads + head
    pair = tl.arange(0, BLOCK_PAIRS)
    paired, turning = pair < KEY // 2, pair < ANGLES
    value = tl.program_id(2) * BLOCK_VALUE + tl.arange(0, BLOCK_VALUE)
    valued = value < VALUE
    # All programs of a head know its angle and key; the first of them stores both.
    storing = tl.program_id(2) == 0
    cell = (own * VALUE + value)[:, None] * KEY + 2 * pair[None, :]
    cells = valued[:, None] & paired[None, :]
    front = tl.load(state + cell, mask=cells, other=0.0).to(tl.float32)
    back = tl.load(state + cell + 1, mask=cells, other=0.0).to(tl.float32)
    phase = tl.load(angle + own * ANGLES + pair, mask=turning, other=0.0).to(tl.float32)
    d = tl.load(skip + head).to(tl.float32)

    # What the token before adds to the state: outer products of its values and keys, added up over the ranks.
    old = tl.load(prev_v + own * VALUE + value, mask=valued, other=0.0).to(tl.float32)
    front_before = tl.zeros((BLOCK_VALUE, BLOCK_PAIRS), tl.float32)
    back_before = tl.zeros((BLOCK_VALUE, BLOCK_PAIRS), tl.float32)
    for first in tl.static_range(0, RANK, BLOCK_RANK):
        rank = first + tl.arange(0, BLOCK_RANK)
        ranked = (rank < RANK)[:, None] & paired[None, :]
        scaled = _scaled(old, mimo_v, head, rank, value, RANK, VALUE)
        place = prev_k + ((own * RANK + rank) * KEY)[:, None] + 2 * pair[None, :]
        front_before += _outer(scaled, tl.load(place, mask=ranked, other=0.0).to(tl.float32))
        back_before += _outer(scaled, tl.load(place + 1, mask=ranked, other=0.0).to(tl.float32))

    for token in range(tokens):
        at = (entry * tokens + token) * heads + head
        length = tl.load(dt + at).to(tl.float32)
        logit = tl.load(trap + at).to(tl.float32)
        decay = tl.exp(tl.load(adt + at).to(tl.float32))
        phase += tanh(tl.load(angles + at * ANGLES + pair, mask=turning, other=0.0).to(tl.float32)) * length * PI
        cos, sin = tl.cos(phase)[None, :], tl.sin(phase)[None, :]
        current = tl.load(v + at * VALUE + value, mask=valued, other=0.0).to(tl.float32)
        front_added = tl.zeros((BLOCK_VALUE, BLOCK_PAIRS), tl.float32)
        back_added = tl.zeros((BLOCK_VALUE, BLOCK_PAIRS), tl.float32)
        for first in tl.static_range(0, RANK, BLOCK_RANK):
            rank = first + tl.arange(0, BLOCK_RANK)
            ranked = (rank < RANK)[:, None] & paired[None, :]
            bias = ((head * RANK + rank) * KEY)[:, None] + 2 * pair[None, :]
            a, b = _turned(k + ((at * RANK + rank) * KEY)[:, None] + 2 * pair[None, :], k_bias + bias, cos, sin, ranked)
            if storing:
                place = new_k + ((own * RANK + rank) * KEY)[:, None] + 2 * pair[None, :]
                tl.store(place, a, mask=ranked)
                tl.store(place + 1, b, mask=ranked)
            scaled = _scaled(current, mimo_v, head, rank, value, RANK, VALUE)
            front_added += _outer(scaled, a)
            back_added += _outer(scaled, b)
        before, now = tl.sigmoid(-logit) * length * decay, tl.sigmoid(logit) * length
        front = decay * front + before * front_before + now * front_added
        back = decay * back + before * back_before + now * back_added
        front_before, back_before = front_added, back_added
        result = tl.zeros((BLOCK_VALUE,), tl.float32)
        for first in tl.static_range(0, RANK, BLOCK_RANK):
            rank = first + tl.arange(0, BLOCK_RANK)
            ranked = (rank < RANK)[:, None] & paired[None, :]
            bias = ((head * RANK + rank) * KEY)[:, None] + 2 * pair[None, :]
            a, b = _turned(q + ((at * RANK + rank) * KEY)[:, None] + 2 * pair[None, :], q_bias + bias, cos, sin, ranked)
            read = tl.sum(front[None, :, :] * a[:, None, :] + back[None, :, :] * b[:, None, :], 2)
            read += d * _scaled(current, mimo_v, head, rank, value, RANK, VALUE)
            if mimo_o is not None:
                mix = (head * RANK + rank)[:, None] * VALUE + value[None, :]
                read *= tl.load(mimo_o + mix, mask=(rank < RANK)[:, None] & valued[None, :], other=0.0).to(tl.float32)
            result += tl.sum(read, 0)
        tl.store(out + at * VALUE + value, result, mask=valued)
    tl.store(new_state + cell, front, mask=cells)
    tl.store(new_state + cell + 1, back, mask=cells)
    if storing:
        tl.store(new_angle + own * ANGLES + pair, phase, mask=turning)


@triton.jit
def _scaled(values, mimo_v, head, rank, value, RANK: tl.constexpr, VALUE: tl.constexpr):
    """Values times their factors for each rank, [ranks, channels]."""
    real = (rank < RANK)[:, None] & (value < VALUE)[None, :]
    scaled = tl.where(real, values[None, :], 0.0)
    if mimo_v is not None:
        factors = mimo_v + (head * RANK + rank)[:, None] * VALUE + value[None, :]
        scaled *= tl.load(factors, mask=real, other=0.0).to(tl.float32)
    return scaled


@triton.jit
def _outer(x, y):
    """Outer products of the rows of two tiles, added up: there are fewer ranks than a tensor core takes."""
    return tl.sum(x[:, :, None] * y[:, None, :], 0)


@triton.jit
def _turned(x, bias, cos, sin, paired):
    """Pairs with their bias, turned: the first and the second of each."""
    a = tl.load(x, mask=paired, other=0.0).to(tl.float32) + tl.load(bias, mask=paired, other=0.0).to(tl.float32)
    b = tl.load(x + 1, mask=paired, other=0.0).to(tl.float32) + tl.load(bias + 1, mask=paired, other=0.0).to(tl.float32)
    return a * cos - b * sin, a * sin + b * cos
