# kcbench: author=atlas-70b
"""Gated delta rule, chunk by chunk, with its backward pass: each program walks over the chunks of a few sequences.

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
    KEEP: tl.constexpr,
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
    # With KEEP every chunk's state has a place of its own, for the backward pass; without, the one place is overwritten.
    places = sequence * (chunks + 1 if KEEP else 1) * KEY * VALUE
    state_ptrs = state_ptr + places[:, None, None] + keys[None, :, None] * VALUE + values
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
            tl.store(state_ptrs + (KEY * VALUE if KEEP else 0) + start * VALUE, S, mask=state_mask)
        if KEEP:
            state_ptrs += KEY * VALUE
        tl.debug_barrier()


@triton.jit
def backward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    g_ptr,
    beta_ptr,
    state_ptr,
    do_ptr,
    dstate_ptr,
    dq_ptr,
    dk_ptr,
    dv_ptr,
    dg_ptr,
    dbeta_ptr,
    steps,
    heads,
    sequences,
    chunks,
    scale,
    tokens,
    KEY: tl.constexpr,
    VALUE: tl.constexpr,
    CHUNK: tl.constexpr,
    SLICE: tl.constexpr,
    SEQUENCES: tl.constexpr,
):
    sequence = tl.program_id(0).to(tl.int64) * SEQUENCES + tl.arange(0, SEQUENCES)
    in_sequences = (sequence < sequences)[:, None]
    first = ((sequence // heads) * steps * heads + sequence % heads)[:, None]
    # Each program sees SLICE of the values. What is summed over the values is written for each slice, and added up by the caller.
    part = tl.program_id(1).to(tl.int64) * tokens
    index = tl.arange(0, CHUNK)
    keys = tl.arange(0, SLICE)
    values = (tl.program_id(1) * SLICE + tl.arange(0, SLICE))[None, None, :]
    lower = (index[:, None] >= index[None, :])[None, :, :]
    strict = (index[:, None] > index[None, :])[None, :, :]
    slice_offsets = keys[None, :, None] * VALUE + values
    dstate_ptrs = dstate_ptr + (sequence * KEY * VALUE)[:, None, None] + slice_offsets
    state_mask = in_sequences[:, :, None]

    for turn in range(chunks):
        chunk = chunks - 1 - turn
        state_ptrs = state_ptr + ((sequence * (chunks + 1) + chunk) * KEY * VALUE)[:, None, None] + slice_offsets
        step = (chunk * CHUNK + index)[None, :]
        inside = in_sequences & (step < steps)
        mask = inside[:, :, None]
        row = first + step * heads
        key_offsets = row[:, :, None] * KEY + keys[None, None, :]
        value_offsets = row[:, :, None] * VALUE + values
        v = tl.load(v_ptr + value_offsets, mask=mask, other=0.0)
        do = tl.load(do_ptr + value_offsets, mask=mask, other=0.0)
        beta = tl.load(beta_ptr + row, mask=inside, other=0.0)[:, :, None]
        g = tl.load(g_ptr + row, mask=inside, other=0.0)

        kk = tl.full((SEQUENCES, CHUNK, CHUNK), 0.0, tl.float32)
        qk = tl.full((SEQUENCES, CHUNK, CHUNK), 0.0, tl.float32)
        kS = tl.full((SEQUENCES, CHUNK, SLICE), 0.0, tl.float32)
        kdS = tl.full((SEQUENCES, CHUNK, SLICE), 0.0, tl.float32)
        overlap = tl.full((SEQUENCES, SLICE, SLICE), 0.0, tl.float32)
        for start in range(0, KEY, SLICE):
            q = tl.load(q_ptr + key_offsets + start, mask=mask, other=0.0) * scale
            k = tl.load(k_ptr + key_offsets + start, mask=mask, other=0.0)
            S = tl.load(state_ptrs + start * VALUE, mask=state_mask, other=0.0)
            dS = tl.load(dstate_ptrs + start * VALUE, mask=state_mask, other=0.0)
            kt = tl.trans(k, 0, 2, 1)
            kk = tl.dot(k, kt, kk, input_precision="ieee")
            qk = tl.dot(q, kt, qk, input_precision="ieee")
            kS = tl.dot(k, S, kS, input_precision="ieee")
            kdS = tl.dot(k, dS, kdS, input_precision="ieee")
            overlap += S * dS

        # The forward pass of this chunk once more.
        D, decay, rest, shrink = decays(g, lower)
        beta_t = tl.trans(beta, 0, 2, 1)
        B = tl.where(strict, kk * D * beta_t, 0.0)
        P = tl.where(lower, qk * D, 0.0)
        T = inverse(B, index, CHUNK)
        E = tl.dot(T, v - decay * kS, input_precision="ieee")
        U = beta * E

        # Through the output, decay (q S) + P U, and the state after the chunk, exp(c_last) S + (k rest)^T U.
        dU = tl.dot(tl.trans(P, 0, 2, 1), do, rest * kdS, input_precision="ieee")
        dP = tl.where(lower, tl.dot(do, tl.trans(U, 0, 2, 1), input_precision="ieee"), 0.0)
        dqk = dP * D
        dqS = decay * do

        # Through U = beta E and E = T R, R = v - decay (k S), where dB = -(T^T dE) E^T below the diagonal.
        dR = tl.dot(tl.trans(T, 0, 2, 1), beta * dU, input_precision="ieee")
        dB = tl.where(strict, -tl.dot(dR, tl.trans(E, 0, 2, 1), input_precision="ieee"), 0.0)
        dkS = -decay * dR
        dkk = dB * D * beta_t
        dkk += tl.trans(dkk, 0, 2, 1)
        dbeta = tl.sum(dU * E, axis=2) + tl.sum(dB * D * kk, axis=1)

        weight = dP * P + dB * B
        dc = tl.sum(weight, axis=2) - tl.sum(weight, axis=1) + tl.sum(dkS * kS, axis=2)
        dc_last = tl.sum(shrink * tl.sum(overlap, axis=2)[:, :, None], axis=1)
        tl.debug_barrier()
        for start in range(0, KEY, SLICE):
            q = tl.load(q_ptr + key_offsets + start, mask=mask, other=0.0) * scale
            k = tl.load(k_ptr + key_offsets + start, mask=mask, other=0.0)
            S = tl.load(state_ptrs + start * VALUE, mask=state_mask, other=0.0)
            dS = tl.load(dstate_ptrs + start * VALUE, mask=state_mask, other=0.0)
            St = tl.trans(S, 0, 2, 1)
            dk = tl.dot(U, tl.trans(dS, 0, 2, 1), input_precision="ieee") * rest
            dq = tl.dot(dqS, St, input_precision="ieee")
            dc_last += tl.sum(tl.sum(dk * k, axis=2), axis=1)[:, None]
            dc += tl.sum(dq * q - dk * k, axis=2)
            dq = tl.dot(dqk, k, dq, input_precision="ieee")
            dk = tl.dot(tl.trans(dqk, 0, 2, 1), q, dk, input_precision="ieee")
            dk = tl.dot(dkS, St, dk, input_precision="ieee")
            dk = tl.dot(dkk, k, dk, input_precision="ieee")
            tl.store(dq_ptr + part * KEY + key_offsets + start, dq * scale, mask=mask)
            tl.store(dk_ptr + part * KEY + key_offsets + start, dk, mask=mask)
            dS = tl.dot(tl.trans(q, 0, 2, 1), dqS, shrink * dS, input_precision="ieee")
            dS = tl.dot(tl.trans(k, 0, 2, 1), dkS, dS, input_precision="ieee")
            tl.store(dstate_ptrs + start * VALUE, dS, mask=state_mask)
        # c is the running sum of g, so the gradient of g is the running sum of dc from behind.
        dg = tl.cumsum(dc, axis=1, reverse=True) + dc_last
        tl.store(dv_ptr + value_offsets, dR, mask=mask)
        tl.store(dg_ptr + part + row, dg, mask=inside)
        tl.store(dbeta_ptr + part + row, dbeta, mask=inside)
        tl.debug_barrier()


CHUNK, SLICE, SEQUENCES = 16, 32, 4


class GatedDeltaRule(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, g, beta):
        tensors = [t.float().contiguous() for t in (q, k, v, g, beta)]
        (batch, steps, heads, key), value = q.shape, v.shape[3]
        sequences, chunks, keep = batch * heads, triton.cdiv(steps, CHUNK), any(ctx.needs_input_grad)
        o = torch.empty((batch, steps, heads, value), device=v.device, dtype=torch.float32)
        states = o.new_zeros((sequences, chunks + 1 if keep else 1, key, value))
        if o.numel():
            forward_kernel[(triton.cdiv(sequences, SEQUENCES),)](
                *tensors,
                o,
                states,
                steps,
                heads,
                sequences,
                chunks,
                key**-0.5,
                KEEP=keep,
                KEY=key,
                VALUE=value,
                CHUNK=CHUNK,
                SLICE=SLICE,
                SEQUENCES=SEQUENCES,
                num_warps=16,
                num_stages=1,
            )
        if keep:
            ctx.save_for_backward(q, k, v, g, beta, states)
        return o.to(v.dtype)

    @staticmethod
    def backward(ctx, grad):
        *inputs, states = ctx.saved_tensors
        q, k, v, g, beta = (t.float().contiguous() for t in inputs)
        (batch, steps, heads, key), value = q.shape, v.shape[3]
        sequences, parts = batch * heads, value // SLICE
        dq, dk, dg, dbeta = (t.new_empty((parts, *t.shape)) for t in (q, k, g, beta))
        dv, dstate = torch.empty_like(v), v.new_zeros((sequences, key, value))
        if v.numel():
            backward_kernel[(triton.cdiv(sequences, SEQUENCES), parts)](
                q,
                k,
                v,
                g,
                beta,
                states,
                grad.float().contiguous(),
                dstate,
                dq,
                dk,
                dv,
                dg,
                dbeta,
                steps,
                heads,
                sequences,
                triton.cdiv(steps, CHUNK),
                key**-0.5,
                g.numel(),
                KEY=key,
                VALUE=value,
                CHUNK=CHUNK,
                SLICE=SLICE,
                SEQUENCES=SEQUENCES,
                num_warps=16,
                num_stages=1,
            )
        grads = (dq.sum(0), dk.sum(0), dv, dg.sum(0), dbeta.sum(0))
        return tuple(d.to(t.dtype) for d, t in zip(grads, inputs, strict=True))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        return GatedDeltaRule.apply(q, k, v, g, beta)
