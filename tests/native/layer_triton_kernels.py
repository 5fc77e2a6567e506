"""Products in Triton, to be compiled for Blackwell without a GPU."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def single(a, b, d, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr):
    """d = A B; TA: A is stored K x M, TB: B is stored K x N (else N x K)."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.trans(tl.load(a + k[:, None] * M + m[None, :])) if TA else tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :]) if TB else tl.trans(tl.load(b + n[:, None] * K + k[None, :]))
    tl.store(d + m[:, None] * N + n[None, :], tl.dot(x, y))


@triton.jit
def chained(a, b, v, d, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """d = (A B^T rounded) V: the first product becomes an operand in Tensor Memory."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + n[:, None] * K + k[None, :])
    w = tl.load(v + n[:, None] * K + k[None, :])
    s = tl.dot(x, tl.trans(y))
    tl.store(d + m[:, None] * K + k[None, :], tl.dot(s.to(w.dtype), w))
