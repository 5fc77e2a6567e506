"""The kernel that carries the state from chunk to chunk: forwards, and its gradient backwards.

Before a chunk the state ``H`` holds what the tokens before it leave to later ones, the next token's share of each included
(``parts.coefficients``). Within the chunk, for its rows i and j,

    o_i = sum over j of w_ij (q_i . k_j) u_j + exp(log_i) H q_i + D u_i

where ``w_ij`` is the decay between their tokens times ``after_j`` if i's is later, ``now_j`` if it is the same, and zero if it is
earlier. With ``total`` for the log-decay of the whole chunk and y for the gradient of o, states and their gradients follow one
rule:

    H' = exp(total) H + sum over j of exp(total - log_j) after_j u_j k_j^T
    dH = exp(total) dH' + sum over i of exp(log_i) y_i q_i^T

Each pair of a channel and a key goes its own way, so that programs share nothing.
"""

import triton
import triton.language as tl

from native_kernels.mamba3.parts import coefficients


@triton.jit
def carry(
    vectors,
    values,
    scale,
    adt,
    dt,
    trap,
    bounds,
    offsets,
    states,
    heads,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    RANK: tl.constexpr,
    TOKENS: tl.constexpr,
    BLOCK_KEY: tl.constexpr,
    BLOCK_VALUE: tl.constexpr,
    BLOCK_RANK: tl.constexpr,
    BACK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """States before every chunk, from keys and values; with ``BACK`` their gradients behind it.

    These come from queries, in ``vectors``, and gradients of outputs, in ``values``. ``scale`` has a factor of the values for
    each rank, or is None. A program takes some keys and channels of a head of a sequence.
    """
    sequence, head = tl.program_id(0), tl.program_id(1)
    blocks = tl.cdiv(KEY, BLOCK_KEY)
    start, end = tl.load(bounds + sequence), tl.load(bounds + sequence + 1)
    chunk = tl.load(offsets + sequence)
    row = tl.arange(0, TOKENS * BLOCK_RANK)
    rank, place = row % BLOCK_RANK, row // BLOCK_RANK
    key = tl.program_id(2) % blocks * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
    value = tl.program_id(2) // blocks * BLOCK_VALUE + tl.arange(0, BLOCK_VALUE)
    cell = value[:, None] * KEY + key[None, :]
    cells = (value < VALUE)[:, None] & (key < KEY)[None, :]
    real = (rank < RANK)[:, None] & (value < VALUE)[None, :]
    state = tl.zeros((BLOCK_VALUE, BLOCK_KEY), tl.float32)
    chunks = (end - start + TOKENS - 1) // TOKENS
    for done in range(chunks):
        turn = chunks - 1 - done if BACK else done
        tl.store(states + ((chunk + turn) * heads + head) * VALUE * KEY + cell, state, mask=cells)
        first = start + turn * TOKENS
        token = first + place
        inside = token < end
        at = token * heads + head
        log, total, _, after = coefficients(adt, dt, trap, at, heads, rank == 0, inside, token + 1 < end)
        factor = tl.exp(log) if BACK else tl.exp(total - log) * after
        added = tl.load(values + at[:, None] * VALUE + value[None, :], mask=inside[:, None] & real, other=0.0).to(tl.float32)
        if scale is not None:
            added *= tl.load(scale + (head * RANK + rank)[:, None] * VALUE + value[None, :], mask=real, other=0.0).to(tl.float32)
        keyed = (inside & (rank < RANK))[:, None] & (key < KEY)[None, :]
        by = tl.load(vectors + (at * RANK + rank)[:, None] * KEY + key[None, :], mask=keyed, other=0.0).to(tl.float32)
        state = tl.dot(tl.trans(added * factor[:, None]), by, tl.exp(total) * state, input_precision=PRECISION)
