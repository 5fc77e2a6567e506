"""The backward of one head of a Mamba-3 SISO layer, chunk by chunk: the plan of tiles on which Triton's use of Tensor Memory fails.

Written from the mathematics, for what its products ask of the compiler; gates that touch no product are left out. Per chunk of C
tokens, from the state S before it (V x N), the gradient H of the state after it (V x N), and the decays between its tokens, it makes
the gradients of q, k, v, of the decays and of the skip connection, and the next H. At C = V = 64 every product has 64 rows.
"""

import triton
import triton.language as tl


@triton.jit
def chunk_backward(
    q_ptr, k_ptr, v_ptr, o_grad_ptr, decay_ptr, state_ptr, q_grad_ptr, k_grad_ptr, v_grad_ptr, decay_grad_ptr, skip_grad_ptr, chunks,
    C: tl.constexpr, N: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    token = tl.arange(0, C)
    key = tl.arange(0, N)
    value = tl.arange(0, V)
    length = chunks * C
    first = tl.program_id(0) * length
    q_tiles = tl.make_tensor_descriptor(q_ptr + first * N, [length, N], [N, 1], [C, N])
    k_tiles = tl.make_tensor_descriptor(k_ptr + first * N, [length, N], [N, 1], [C, N])
    v_tiles = tl.make_tensor_descriptor(v_ptr + first * V, [length, V], [V, 1], [C, V])
    o_grad_tiles = tl.make_tensor_descriptor(o_grad_ptr + first * V, [length, V], [V, 1], [C, V])
    states = tl.make_tensor_descriptor(state_ptr + tl.program_id(0) * chunks * V * N, [chunks * V, N], [N, 1], [V, N])
    later = tl.zeros((V, N), dtype=tl.float32)  # H
    for step in range(chunks):
        chunk = chunks - 1 - step
        rows = first + chunk * C + token
        decay = tl.load(decay_ptr + rows)
        whole = tl.load(decay_ptr + first + chunk * C + C - 1)
        to_end = tl.exp2(whole - decay)[:, None]
        from_start = tl.exp2(decay)[:, None]
        q = q_tiles.load([chunk * C, 0])
        k = k_tiles.load([chunk * C, 0])
        v = v_tiles.load([chunk * C, 0])
        o_grad = o_grad_tiles.load([chunk * C, 0])
        state = states.load([chunk * V, 0])
        between = tl.where(token[:, None] < token[None, :], tl.exp2(decay[None, :] - decay[:, None]), 0.0)

        pairs = tl.dot(v, tl.trans(o_grad)) * between
        pairs *= tl.dot(k, tl.trans(q))
        decay_grad = tl.sum(pairs, axis=0) - tl.sum(pairs, axis=1)

        scores = tl.dot(v, tl.trans(o_grad)) * between
        k_grad = tl.dot(scores.to(q.dtype), q)
        k_grad += tl.dot(v, later.to(v.dtype)) * to_end
        tl.store(k_grad_ptr + rows[:, None] * N + key[None, :], k_grad)

        again = tl.dot(v, tl.trans(o_grad)) * between
        q_grad = tl.dot(tl.trans(again).to(k.dtype), k)
        q_grad += tl.dot(o_grad, state) * from_start
        tl.store(q_grad_ptr + rows[:, None] * N + key[None, :], q_grad)

        weights = tl.dot(k, tl.trans(q)) * between
        v_grad = tl.dot(weights.to(o_grad.dtype), o_grad)
        v_grad += tl.dot(k, tl.trans(later).to(k.dtype)) * to_end
        tl.store(v_grad_ptr + rows[:, None] * V + value[None, :], v_grad)

        # Read once more, so that they need not be held in registers; the first is scaled below.
        o_grad_again = tl.load(o_grad_ptr + rows[:, None] * V + value[None, :], volatile=True)
        v_again = tl.load(v_ptr + rows[:, None] * V + value[None, :], volatile=True)
        skip_grad = tl.dot(o_grad_again * v_again, tl.full((V, 1), 1, dtype=v.dtype))
        tl.store(skip_grad_ptr + rows[:, None], skip_grad)

        from_state = tl.dot(q, tl.trans(state)) * from_start
        decay_grad += tl.sum(from_state * o_grad_again, axis=1)
        to_state = tl.dot(k, tl.trans(later).to(k.dtype)) * to_end
        decay_grad -= tl.sum(to_state * v_again, axis=1)
        tl.store(decay_grad_ptr + rows, decay_grad)

        scaled = o_grad_again * from_start
        later = later * tl.exp2(whole) + tl.dot(tl.trans(scaled).to(q.dtype), q)
