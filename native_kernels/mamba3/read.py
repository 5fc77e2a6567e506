"""The kernel that reads a chunk's outputs from its own tokens and the state before it; backwards, the gradients of its values."""

import triton
import triton.language as tl

from native_kernels.mamba3.parts import coefficients, decay_between, over_ranks, over_tokens


@triton.jit
def read(
    queries,
    keys,
    values,
    scale,
    others,
    mix,
    adt,
    dt,
    trap,
    skip,
    states,
    bounds,
    offsets,
    owners,
    out,
    sums,
    heads,
    sequences,
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
    """Outputs from values (``carry`` has the formula); with ``BACK`` gradients of values from those of outputs.

    A program takes channels of a head of a chunk. Of several ranks, ``scale`` has the factors of what is read and ``mix`` those
    of the result, which is added up over the ranks. ``sums`` gets, for each chunk, the gradient of ``mix``: sums over the tokens
    of the result before it times ``others``. Each of ``out`` and ``sums`` may be None.
    """
    chunk, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    sequence = tl.load(owners + chunk)
    if sequence < sequences:
        end = tl.load(bounds + sequence + 1)
        first = tl.load(bounds + sequence) + (chunk - tl.load(offsets + sequence)) * TOKENS
        row = tl.arange(0, TOKENS * BLOCK_RANK)
        rank, place = row % BLOCK_RANK, row // BLOCK_RANK
        token = first + place
        inside = token < end
        at = token * heads + head
        log, total, now, after = coefficients(adt, dt, trap, at, heads, rank == 0, inside, token + 1 < end)
        value = tl.program_id(2) * BLOCK_VALUE + tl.arange(0, BLOCK_VALUE)

        scores = tl.zeros((TOKENS * BLOCK_RANK, TOKENS * BLOCK_RANK), tl.float32)
        result = tl.zeros((TOKENS * BLOCK_RANK, BLOCK_VALUE), tl.float32)
        for block in range(0, KEY, BLOCK_KEY):
            key = block + tl.arange(0, BLOCK_KEY)
            vectors = (at * RANK + rank)[:, None] * KEY + key[None, :]
            keyed = (inside & (rank < RANK))[:, None] & (key < KEY)[None, :]
            cells = (chunk * heads + head) * VALUE * KEY + value[None, :] * KEY + key[:, None]
            within = (value < VALUE)[None, :] & (key < KEY)[:, None]
            # Rows are the tokens that the result belongs to, columns those whose values it is made of.
            mine = tl.load((keys if BACK else queries) + vectors, mask=keyed, other=0.0)
            theirs = tl.load((queries if BACK else keys) + vectors, mask=keyed, other=0.0)
            state = tl.load(states + cells, mask=within, other=0.0)
            scores = tl.dot(mine, tl.trans(theirs), scores, input_precision=PRECISION)
            result = tl.dot(mine.to(tl.float32), state, result, input_precision=PRECISION)

        same = place[:, None] == place[None, :]
        if BACK:
            result *= (tl.exp(total - log) * after)[:, None]
            scores *= tl.trans(decay_between(log, place)) * after[:, None] + tl.where(same, now[:, None], 0.0)
        else:
            result *= tl.exp(log)[:, None]
            scores *= decay_between(log, place) * after[None, :] + tl.where(same, now[None, :], 0.0)
        real = (rank < RANK)[:, None] & (value < VALUE)[None, :]
        spot = at[:, None] * VALUE + value[None, :]
        weight = (head * RANK + rank)[:, None] * VALUE + value[None, :]
        read_from = tl.load(values + spot, mask=inside[:, None] & real, other=0.0).to(tl.float32)
        if scale is not None:
            read_from *= tl.load(scale + weight, mask=real, other=0.0).to(tl.float32)
        result = tl.dot(scores, read_from, result, input_precision=PRECISION)
        result += tl.load(skip + head).to(tl.float32) * read_from

        if sums is not None:
            ranks = tl.arange(0, BLOCK_RANK)
            kept = (ranks < RANK)[:, None] & (value < VALUE)[None, :]
            target = ((chunk * heads + head) * RANK + ranks)[:, None] * VALUE + value[None, :]
            other = tl.load(others + spot, mask=inside[:, None] & real, other=0.0).to(tl.float32)
            tl.store(sums + target, over_tokens(result * other, BLOCK_RANK), mask=kept)
        if out is not None:
            if mix is not None:
                result *= tl.load(mix + weight, mask=real, other=0.0).to(tl.float32)
            tokens = first + tl.arange(0, TOKENS)
            target = (tokens * heads + head)[:, None] * VALUE + value[None, :]
            tl.store(out + target, over_ranks(result, BLOCK_RANK), mask=(tokens < end)[:, None] & (value < VALUE)[None, :])
