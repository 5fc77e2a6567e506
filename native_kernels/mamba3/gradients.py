"""The kernel that finds, for every chunk by itself, all gradients that need products of values with gradients of outputs."""

import triton
import triton.language as tl

from native_kernels.mamba3.parts import coefficients, decay_between


@triton.jit
def gradients(
    queries,
    keys,
    values,
    d_out,
    mimo_v,
    mimo_o,
    adt,
    dt,
    trap,
    states,
    d_states,
    bounds,
    offsets,
    owners,
    d_queries,
    d_keys,
    d_adt,
    d_now,
    d_after,
    d_skip,
    tokens,
    heads,
    sequences,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    RANK: tl.constexpr,
    TOKENS: tl.constexpr,
    BLOCK_KEY: tl.constexpr,
    BLOCK_VALUE: tl.constexpr,
    BLOCK_RANK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients of turned queries and keys, of D, and the part that these keys have in those of adt and of the coefficients.

    A program takes some keys of a head of a chunk. The log-decay of a token acts on each pair of tokens that lies around it. The
    sum over those pairs is taken as such: as the difference of two sums over all pairs, which is cheaper, it would lose digits.
    """
    chunk, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    sequence = tl.load(owners + chunk)
    if sequence < sequences:
        end = tl.load(bounds + sequence + 1)
        first = tl.load(bounds + sequence) + (chunk - tl.load(offsets + sequence)) * TOKENS
        row = tl.arange(0, TOKENS * BLOCK_RANK)
        rank, place = row % BLOCK_RANK, row // BLOCK_RANK
        key = tl.program_id(2) * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
        token = first + place
        inside = token < end
        at = token * heads + head
        lead = rank == 0

        # [i, j]: what the gradient of the output of row i says of the value of row j.
        products = tl.zeros((TOKENS * BLOCK_RANK, TOKENS * BLOCK_RANK), tl.float32)
        dq = tl.zeros((TOKENS * BLOCK_RANK, BLOCK_KEY), tl.float32)
        dk = tl.zeros((TOKENS * BLOCK_RANK, BLOCK_KEY), tl.float32)
        through = tl.zeros((BLOCK_VALUE,), tl.float32)
        for block in range(0, VALUE, BLOCK_VALUE):
            value = block + tl.arange(0, BLOCK_VALUE)
            real = (rank < RANK)[:, None] & (value < VALUE)[None, :]
            spot = at[:, None] * VALUE + value[None, :]
            value_here = tl.load(values + spot, mask=inside[:, None] & real, other=0.0).to(tl.float32)
            given = tl.load(d_out + spot, mask=inside[:, None] & real, other=0.0).to(tl.float32)
            if mimo_v is not None:
                weight = (head * RANK + rank)[:, None] * VALUE + value[None, :]
                value_here *= tl.load(mimo_v + weight, mask=real, other=0.0).to(tl.float32)
                given *= tl.load(mimo_o + weight, mask=real, other=0.0).to(tl.float32)
            products = tl.dot(given, tl.trans(value_here), products, input_precision=PRECISION)
            cells = (chunk * heads + head) * VALUE * KEY + value[:, None] * KEY + key[None, :]
            within = (value < VALUE)[:, None] & (key < KEY)[None, :]
            state = tl.load(states + cells, mask=within, other=0.0)
            d_state = tl.load(d_states + cells, mask=within, other=0.0)
            dq = tl.dot(given, state, dq, input_precision=PRECISION)
            dk = tl.dot(value_here, d_state, dk, input_precision=PRECISION)
            through += tl.sum(state * d_state, 1)
        if tl.program_id(2) == 0:
            tl.store(d_skip + chunk * heads + head, tl.sum(tl.where(row[:, None] == row[None, :], products, 0.0)))

        log, total, now, after = coefficients(adt, dt, trap, at, heads, lead, inside, token + 1 < end)
        vectors = (at * RANK + rank)[:, None] * KEY + key[None, :]
        keyed = (inside & (rank < RANK))[:, None] & (key < KEY)[None, :]
        queries_here = tl.load(queries + vectors, mask=keyed, other=0.0)
        keys_here = tl.load(keys + vectors, mask=keyed, other=0.0)
        wide_q, wide_k = queries_here.to(tl.float32), keys_here.to(tl.float32)
        decay = decay_between(log, place)
        same = place[:, None] == place[None, :]

        dq *= tl.exp(log)[:, None]
        reaching = tl.sum(dq * wide_q, 1)
        leaving = tl.exp(total - log)
        reached = leaving * tl.sum(dk * wide_k, 1)
        dk *= (leaving * after)[:, None]
        d_scores = products * (decay * after[None, :] + tl.where(same, now[None, :], 0.0))
        dq = tl.dot(d_scores, wide_k, dq, input_precision=PRECISION)
        dk = tl.dot(tl.trans(d_scores), wide_q, dk, input_precision=PRECISION)
        tl.store(d_queries + vectors, dq, mask=keyed)
        tl.store(d_keys + vectors, dk, mask=keyed)

        d_weights = products * tl.dot(queries_here, tl.trans(keys_here), input_precision=PRECISION)
        d_own = tl.sum(tl.where(same, d_weights, 0.0), 0)
        d_weights *= decay
        d_later = tl.sum(d_weights, 0) + reached
        part = tl.program_id(2).to(tl.int64) * tokens * heads
        leads = first + tl.arange(0, TOKENS)
        target = part + leads * heads + head
        tl.store(d_now + target, tl.sum(tl.reshape(d_own, (TOKENS, BLOCK_RANK)), 1), mask=leads < end)
        tl.store(d_after + target, tl.sum(tl.reshape(d_later, (TOKENS, BLOCK_RANK)), 1), mask=leads < end)

        # A pair of tokens feels the log-decay of those after the earlier one, up to the later one.
        around = tl.cumsum(d_weights * after[None, :], 0, reverse=True)
        d_log = tl.sum(tl.where(place[:, None] > place[None, :], around, 0.0), 1)
        d_log += tl.cumsum(reaching, 0, reverse=True)
        reached *= after
        d_log += tl.cumsum(reached, 0) - reached + tl.exp(total) * tl.sum(through, 0)
        tl.store(d_adt + part + at, d_log, mask=inside & lead)
