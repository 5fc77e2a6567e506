# kcbench: author=cirrus-code
"""Gated delta rule, chunk by chunk: each program walks over the chunks of a few sequences.

A sequence is one head of one batch entry. Within a chunk let c be the running sum of g, D[i, j] = exp(c_i - c_j) for j <= i, and
B = (k_i . k_j) D[i, j] beta_j strictly below the diagonal. What the state recalls is wrong by E = (I + B)^-1 (v - exp(c) (k S)).
The tokens write U = beta E, the output is scale (exp(c) (q S) + tril(q k^T D) U), and the state after the chunk is
exp(c_last) S + (k exp(c_last - c))^T U.
The state lies in memory and is read in slices of 32 keys, so that no product is deeper than 32.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def inverse(B, index, CHUNK: tl.constexpr):
    # (I + B)^-1 for a strictly lower triangular B, by block substitution with blocks of doubling size, all blocks of a size at
    # once. Row i and column j lie in the two halves of one block of 2 * size where the highest bit in which they differ is size.
    differ = (index[:, None] ^ index[None, :])[None, :, :]
    T = tl.where(differ == 0, 1.0, tl.where(differ == 1, -B, 0.0))
    for level in tl.static_range(1, 10):
        if (1 << level) < CHUNK:
            below = tl.where(differ >> level == 1, B, 0.0)
            T -= tl.dot(tl.dot(T, below, input_precision="ieee"), T, input_precision="ieee")
    return T


@triton.jit
def decays(g, lower):
    # exp of differences between running sums of g, without the rounding of the sums: multiples of 2^-12 are added and subtracted
    # exactly, and what is left over is small.
    coarse = tl.floor(g * 4096.0) * 0.000244140625
    fine = g - coarse
    c, f = tl.cumsum(coarse, axis=1), tl.cumsum(fine, axis=1)
    c_last, f_last = tl.sum(coarse, axis=1)[:, None], tl.sum(fine, axis=1)[:, None]
    decay = tl.exp(c + f)
    rest = tl.exp((c_last - c) + (f_last - f))
    shrink = tl.exp(c_last + f_last)
    # The mask goes on before the exponential: above the diagonal the exponent is positive and may overflow.
    between = (c[:, :, None] - c[:, None, :]) + (f[:, :, None] - f[:, None, :])
    D = tl.exp(tl.where(lower, between, float("-inf")))
    return D, decay[:, :, None], rest[:, :, None], shrink[:, :, None]


@triton.jit
def forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    g_ptr,
    beta_ptr,
    o_ptr,
    state_ptr,
    steps,
    heads,
    sequences,
    chunks,
    scale,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    CHUNK: tl.constexpr,
    SLICE: tl.constexpr,
    SEQUENCES: tl.constexpr,
):
    sequence = tl.program_id(0).to(tl.int64) * SEQUENCES + tl.arange(0, SEQUENCES)
    in_sequences = (sequence < sequences)[:, None]
    first = ((sequence // heads) * steps * heads + sequence % heads)[:, None]
    index = tl.arange(0, CHUNK)
    keys = tl.arange(0, SLICE)
    values = tl.arange(0, VALUE)[None, None, :]
    lower = (index[:, None] >= index[None, :])[None, :, :]
    strict = (index[:, None] > index[None, :])[None, :, :]
    state_ptrs = state_ptr + (sequence * KEY * VALUE)[:, None, None] + keys[None, :, None] * VALUE + values
    state_mask = in_sequences[:, :, None]

    for chunk in range(chunks):
        step = (chunk * CHUNK + index)[None, :]
        inside = in_sequences & (step < steps)
        mask = inside[:, :, None]
        row = first + step * heads
        key_offsets = row[:, :, None] * KEY + keys[None, None, :]
        value_offsets = row[:, :, None] * VALUE + values
        # Tokens past the end get k = v = beta = g = 0: they neither write nor decay.
        v = tl.load(v_ptr + value_offsets, mask=mask, other=0.0)
        beta = tl.load(beta_ptr + row, mask=inside, other=0.0)[:, :, None]
        g = tl.load(g_ptr + row, mask=inside, other=0.0)

        kk = tl.full((SEQUENCES, CHUNK, CHUNK), 0.0, tl.float32)
        qk = tl.full((SEQUENCES, CHUNK, CHUNK), 0.0, tl.float32)
        kS = tl.full((SEQUENCES, CHUNK, VALUE), 0.0, tl.float32)
        qS = tl.full((SEQUENCES, CHUNK, VALUE), 0.0, tl.float32)
        for start in range(0, KEY, SLICE):
            q = tl.load(q_ptr + key_offsets + start, mask=mask, other=0.0) * scale
            k = tl.load(k_ptr + key_offsets + start, mask=mask, other=0.0)
            S = tl.load(state_ptrs + start * VALUE, mask=state_mask, other=0.0)
            kt = tl.trans(k, 0, 2, 1)
            kk = tl.dot(k, kt, kk, input_precision="ieee")
            qk = tl.dot(q, kt, qk, input_precision="ieee")
            kS = tl.dot(k, S, kS, input_precision="ieee")
            qS = tl.dot(q, S, qS, input_precision="ieee")

        D, decay, rest, shrink = decays(g, lower)
        B = tl.where(strict, kk * D * tl.trans(beta, 0, 2, 1), 0.0)
        P = tl.where(lower, qk * D, 0.0)
        R = v - decay * kS
        # A product with a triangular matrix lets 0 * inf reach earlier tokens. So take what is not finite out of the products,
        # and make it NaN from its token on: x * 0 is NaN exactly where x is not finite, and the running sum keeps the NaN.
        bad_rows = tl.sum(B * 0.0, axis=2)[:, :, None]
        bad = bad_rows + R * 0.0
        T = inverse(tl.where(bad_rows == 0.0, B, 0.0), index, CHUNK)
        U = beta * tl.dot(T, tl.where(bad == 0.0, R, 0.0), input_precision="ieee")
        bad += U * 0.0
        taint = tl.cumsum(bad, axis=1)
        o = tl.dot(P, tl.where(bad == 0.0, U, 0.0), decay * qS, input_precision="ieee") + taint
        tl.store(o_ptr + value_offsets, o, mask=mask)
        U += taint

        tl.debug_barrier()
        for start in range(0, KEY, SLICE):
            k = tl.load(k_ptr + key_offsets + start, mask=mask, other=0.0)
            S = tl.load(state_ptrs + start * VALUE, mask=state_mask, other=0.0)
            S = tl.dot(tl.trans(k * rest, 0, 2, 1), U, shrink * S, input_precision="ieee")
            tl.store(state_ptrs + start * VALUE, S, mask=state_mask)
        tl.debug_barrier()


CHUNK, SLICE, SEQUENCES = 16, 32, 4


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        tensors = [t.float().contiguous() for t in (q, k, v, g, beta)]
        (batch, steps, heads, key), value = q.shape, v.shape[3]
        sequences = batch * heads
        o = torch.empty((batch, steps, heads, value), device=v.device, dtype=torch.float32)
        states = o.new_zeros((sequences, key, value))
        if o.numel():
            forward_kernel[(triton.cdiv(sequences, SEQUENCES),)](
                *tensors,
                o,
                states,
                steps,
                heads,
                sequences,
                triton.cdiv(steps, CHUNK),
                key**-0.5,
                KEY=key,
                VALUE=value,
                CHUNK=CHUNK,
                SLICE=SLICE,
                SEQUENCES=SEQUENCES,
                num_warps=16,
                num_stages=1,
            )
        return o.to(v.dtype)
