# kcbench: author=atlas-70b
"""Scaled dot-product attention in one pass over the keys, with a running maximum and sum per query."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    q_len,
    kv_len,
    dim,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    dims = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)[None, :]
    depth = tl.arange(0, BLOCK_K)
    q_ptrs = q_ptr + (head * q_len + rows) * dim + depth[None, :]
    k_ptrs = k_ptr + head * kv_len * dim + depth[:, None]
    v_ptrs = v_ptr + head * kv_len * dim + dims

    # The maxima drop NaN, but exp(NaN) enters both the sum and the accumulator, so a NaN score reaches its whole query.
    peak = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.full((BLOCK_M,), 0.0, tl.float32)
    acc = tl.full((BLOCK_M, BLOCK_D), 0.0, tl.float32)
    for start in range(0, kv_len, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        in_keys = keys < kv_len
        scores = tl.full((BLOCK_M, BLOCK_N), 0.0, tl.float32)
        for d in range(0, dim, BLOCK_K):
            q = tl.load(q_ptrs + d, mask=(rows < q_len) & (depth < dim - d)[None, :], other=0.0)
            k = tl.load(k_ptrs + keys[None, :] * dim + d, mask=in_keys[None, :] & (depth < dim - d)[:, None], other=0.0)
            scores = tl.dot(q, k, scores, input_precision="ieee")
        scores = tl.where(in_keys[None, :], scores * scale, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(scores, axis=1))
        # A query whose scores are all -inf so far keeps sum 0; if it stays so, 0 / 0 makes it NaN as in a plain softmax.
        shift = tl.where(new_peak == float("-inf"), 0.0, new_peak)
        decay = tl.exp(peak - shift)
        p = tl.exp(scores - shift[:, None])
        v = tl.load(v_ptrs + keys[:, None] * dim, mask=in_keys[:, None] & (dims < dim), other=0.0)
        total = total * decay + tl.sum(p, axis=1)
        acc = tl.dot(p, v, acc * decay[:, None], input_precision="ieee")
        peak = new_peak
    tl.store(o_ptr + (head * q_len + rows) * dim + dims, acc / total[:, None], mask=(rows < q_len) & (dims < dim))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        batch, heads, q_len, dim = q.shape
        kv_len = k.shape[2]
        queries, keys, values = (t.float().contiguous() for t in (q, k, v))
        out = torch.empty_like(queries)
        if out.numel():
            block_m = max(16, min(triton.next_power_of_2(q_len), 128))
            block_d = max(16, min(triton.next_power_of_2(dim), 64))
            attention_kernel[(batch * heads, triton.cdiv(q_len, block_m), triton.cdiv(dim, block_d))](
                queries,
                keys,
                values,
                out,
                q_len,
                kv_len,
                dim,
                dim**-0.5,
                BLOCK_M=block_m,
                BLOCK_N=64,
                BLOCK_D=block_d,
                BLOCK_K=32,
                num_warps=8,
                num_stages=1,
            )
        return out.to(q.dtype)
