"""Models, honest re-implementations of them, and the same with planted faults: what the calibration tests measure.

A case holds a model that is written once and evaluated in float64 and, as ``eager``, in the candidate's dtype. Honest kernels sum in
other orders or use other formulas at float32 accumulation; faults are what a verifier must refuse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

Kernel = Callable[..., Tensor]


@dataclass(frozen=True)
class Case:
    name: str
    inputs: Callable[[torch.Generator], tuple[Tensor, ...]]
    model: Kernel
    honest: dict[str, Kernel] = field(default_factory=dict)
    faults: dict[str, Kernel] = field(default_factory=dict)


def randn(*shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda g: torch.randn(*shape, generator=g, dtype=torch.float64)


def rand(*shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda g: torch.rand(*shape, generator=g, dtype=torch.float64)


def draw(*makers: Callable[[torch.Generator], Tensor]) -> Callable[[torch.Generator], tuple[Tensor, ...]]:
    return lambda g: tuple(make(g) for make in makers)


# Sums along the last dimension, in orders that a kernel may choose.


def sequential(x: Tensor) -> Tensor:
    total = torch.zeros_like(x[..., 0])
    for i in range(x.shape[-1]):
        total = total + x[..., i]
    return total


def reverse(x: Tensor) -> Tensor:
    return sequential(x.flip(-1))


def pairwise(x: Tensor) -> Tensor:
    while x.shape[-1] > 1:
        if x.shape[-1] % 2:
            x = F.pad(x, (0, 1))
        x = x[..., ::2] + x[..., 1::2]
    return x[..., 0]


def split(x: Tensor) -> Tensor:
    return sequential(torch.stack([sequential(part) for part in x.chunk(8, -1)], -1))


def kahan(x: Tensor) -> Tensor:
    total = torch.zeros_like(x[..., 0])
    carry = torch.zeros_like(total)
    for i in range(x.shape[-1]):
        y = x[..., i] - carry
        t = total + y
        carry = (t - total) - y
        total = t
    return total


SUMS: dict[str, Kernel] = {"sequential": sequential, "reverse": reverse, "pairwise": pairwise, "split": split, "kahan": kahan}


def in_half(x: Tensor) -> Tensor:
    """A float16 accumulator that is written back every 16 terms."""
    pad = -x.shape[-1] % 16
    blocks = F.pad(x, (0, pad)).unflatten(-1, (-1, 16)).sum(-1)
    total = torch.zeros_like(blocks[..., 0])
    for i in range(blocks.shape[-1]):
        total = (total + blocks[..., i]).half().float()
    return total


def narrowed(x: Tensor) -> Tensor:
    return x.bfloat16().to(x.dtype)


def zero_tail(y: Tensor) -> Tensor:
    y = y.clone()
    y.view(-1)[-max(1, y.numel() // 16) :] = 0
    return y


def scaled(kernel: Kernel) -> Kernel:
    return lambda *args: kernel(*args) * (1 + 1e-4)


def tail(kernel: Kernel) -> Kernel:
    return lambda *args: zero_tail(kernel(*args))


def on_narrowed(kernel: Kernel) -> Kernel:
    return lambda *args: kernel(*(narrowed(a) for a in args))


def generic(kernel: Kernel) -> dict[str, Kernel]:
    return {"x(1+1e-4)": scaled(kernel), "zeroed tail": tail(kernel), "bf16 inputs": on_narrowed(kernel)}


# Matrix product: products laid out along a last dimension, then any of the sums.


def product_by(total: Kernel) -> Kernel:
    return lambda a, b: total(a.unsqueeze(1) * b.t().unsqueeze(0))


def matmul(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def matmul_case(k: int, positive: bool) -> Case:
    make = rand if positive else randn
    return Case(
        f"matmul K={k} {'positive' if positive else 'randn'}",
        draw(make(24, k), make(k, 16)),
        matmul,
        {name: product_by(total) for name, total in SUMS.items()},
        {
            **generic(matmul),
            "fp16 accumulator": product_by(in_half),
            "dropped element": lambda a, b: a[:, :-1] @ b[:-1],
        },
    )


# Row operations.


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def softmax_by(total: Kernel, e: Kernel = torch.exp) -> Kernel:
    def kernel(x: Tensor) -> Tensor:
        y = e(x - x.amax(-1, keepdim=True))
        return y / total(y).unsqueeze(-1)

    return kernel


def online_sum(x: Tensor) -> tuple[Tensor, Tensor]:
    top = torch.full_like(x[..., 0], -math.inf)
    total = torch.zeros_like(top)
    for i in range(x.shape[-1]):
        new = torch.maximum(top, x[..., i])
        total = total * torch.exp(top - new) + torch.exp(x[..., i] - new)
        top = new
    return top, total


def online_softmax(x: Tensor) -> Tensor:
    top, total = online_sum(x)
    return torch.exp(x - top.unsqueeze(-1)) / total.unsqueeze(-1)


def base_two(x: Tensor) -> Tensor:
    return torch.exp2(x * math.log2(math.e))


def logsumexp(x: Tensor) -> Tensor:
    return torch.logsumexp(x, -1)


def logsumexp_by(total: Kernel) -> Kernel:
    def kernel(x: Tensor) -> Tensor:
        m = x.amax(-1)
        return m + torch.log(total(torch.exp(x - m.unsqueeze(-1))))

    return kernel


def online_logsumexp(x: Tensor) -> Tensor:
    top, total = online_sum(x)
    return top + torch.log(total)


def layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], w, b)


def layer_norm_by(total: Kernel, eps: float = 1e-5) -> Kernel:
    def kernel(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        n = x.shape[-1]
        d = x - (total(x) / n).unsqueeze(-1)
        return d * torch.rsqrt(total(d * d) / n + eps).unsqueeze(-1) * w + b

    return kernel


def welford_layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    mean = torch.zeros_like(x[..., 0])
    square = torch.zeros_like(mean)
    for i in range(x.shape[-1]):
        d = x[..., i] - mean
        mean = mean + d / (i + 1)
        square = square + d * (x[..., i] - mean)
    rstd = torch.rsqrt(square / x.shape[-1] + 1e-5)
    return (x - mean.unsqueeze(-1)) * rstd.unsqueeze(-1) * w + b


def rms_norm(x: Tensor, w: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def rms_norm_by(total: Kernel, eps: float = 1e-6) -> Kernel:
    return lambda x, w: x / torch.sqrt(total(x * x) / x.shape[-1] + eps).unsqueeze(-1) * w


def row_sum(x: Tensor) -> Tensor:
    return x.sum(-1)


def row_mean(x: Tensor) -> Tensor:
    return x.mean(-1)


def cumsum(x: Tensor) -> Tensor:
    return torch.cumsum(x, -1)


def blocked_cumsum(x: Tensor) -> Tensor:
    inner = x.unflatten(-1, (-1, 32)).cumsum(-1)
    carry = F.pad(inner[..., -1].cumsum(-1)[..., :-1], (1, 0))
    return (inner + carry.unsqueeze(-1)).flatten(-2)


def hillis_steele_cumsum(x: Tensor) -> Tensor:
    step = 1
    while step < x.shape[-1]:
        x = x + F.pad(x[..., :-step], (step, 0))
        step *= 2
    return x


def sequential_cumsum(x: Tensor) -> Tensor:
    total = torch.zeros_like(x[..., 0])
    out = []
    for i in range(x.shape[-1]):
        total = total + x[..., i]
        out.append(total)
    return torch.stack(out, -1)


# Fused and structured operations.


def linear_gelu(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.gelu(F.linear(x, w, b))


def linear_gelu_by(total: Kernel) -> Kernel:
    def kernel(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        y = total(x.unsqueeze(1) * w.unsqueeze(0)) + b
        return y * 0.5 * (1 + torch.erf(y / math.sqrt(2)))

    return kernel


def conv(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.conv2d(x, w, b, padding=1)


def conv_by(total: Kernel) -> Kernel:
    def kernel(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        columns = F.unfold(x, w.shape[2:], padding=1)
        y = total(columns.transpose(1, 2).unsqueeze(2) * w.flatten(1)) + b
        return y.transpose(1, 2).unflatten(-1, x.shape[2:])

    return kernel


def max_pool(x: Tensor) -> Tensor:
    return F.max_pool2d(x, 3, 2, 1)


def classes(x: Tensor) -> Tensor:
    return torch.arange(x.shape[0], device=x.device) % x.shape[1]


def cross_entropy(x: Tensor) -> Tensor:
    return F.cross_entropy(x, classes(x))


def cross_entropy_by(total: Kernel) -> Kernel:
    def kernel(x: Tensor) -> Tensor:
        rows = logsumexp_by(total)(x) - x.gather(1, classes(x).unsqueeze(1))[:, 0]
        return total(rows) / x.shape[0]

    return kernel


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def attention_by(total: Kernel) -> Kernel:
    def kernel(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = total(q.unsqueeze(-2) * k.unsqueeze(-3)) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
        p = softmax_by(total)(scores)
        return total(p.unsqueeze(-2) * v.transpose(-1, -2).unsqueeze(-3))

    return kernel


def flash_attention(q: Tensor, k: Tensor, v: Tensor, block: int = 16) -> Tensor:
    q = q * (math.log2(math.e) / math.sqrt(q.shape[-1]))
    top = torch.full((*q.shape[:-1], 1), -math.inf)
    total = torch.zeros_like(top)
    out = torch.zeros_like(q)
    rows = torch.arange(q.shape[-2]).unsqueeze(1)
    for start in range(0, k.shape[-2], block):
        s = q @ k[..., start : start + block, :].transpose(-1, -2)
        s = s.masked_fill(torch.arange(start, start + s.shape[-1]) > rows, -math.inf)
        new = torch.maximum(top, s.amax(-1, keepdim=True))
        p = torch.exp2(s - new)
        shrink = torch.exp2(top - new)
        total = total * shrink + p.sum(-1, keepdim=True)
        out = out * shrink + p @ v[..., start : start + block, :]
        top = new
    return out / total


def delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """Gated delta rule: S <- e^g (S - beta k (k^T S)) + beta k v^T, o = S^T q, over time; [heads, time, width]."""
    k = F.normalize(k, dim=-1)
    decay, rate = -F.softplus(g), torch.sigmoid(beta)
    state = q.new_zeros(q.shape[0], q.shape[-1], v.shape[-1])
    out = []
    for t in range(q.shape[1]):
        state = state * torch.exp(decay[:, t])[:, None, None]
        seen = torch.einsum("hk,hkv->hv", k[:, t], state)
        write = (v[:, t] - seen) * rate[:, t, None]
        state = state + k[:, t, :, None] * write[:, None, :]
        out.append(torch.einsum("hk,hkv->hv", q[:, t], state))
    return torch.stack(out, 1)


def delta_rule_by(total: Kernel, step: Kernel = lambda s: s) -> Kernel:
    def kernel(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
        k = k / torch.sqrt(total(k * k)).unsqueeze(-1)
        decay, rate = 1 / (1 + torch.exp(g)), 1 / (1 + torch.exp(-beta))
        state = q.new_zeros(q.shape[0], v.shape[-1], q.shape[-1])
        out = []
        for t in range(q.shape[1]):
            kt = k[:, t].unsqueeze(1)
            state = state * decay[:, t, None, None]
            write = (v[:, t] - total(state * kt)) * rate[:, t, None]
            state = step(state + write.unsqueeze(-1) * kt)
            out.append(total(state * q[:, t].unsqueeze(1)))
        return torch.stack(out, 1)

    return kernel


def by_sums(make: Callable[[Kernel], Kernel], *names: str) -> dict[str, Kernel]:
    return {name: make(SUMS[name]) for name in names or SUMS}


def cases() -> list[Case]:
    """Every case of the study, at sizes that a test run can afford."""
    return [
        *(matmul_case(k, positive) for k in (64, 512, 4096) for positive in (False, True)),
        Case(
            "softmax",
            draw(randn(32, 300)),
            softmax,
            {**by_sums(softmax_by), "online": online_softmax, "exp2": softmax_by(pairwise, base_two)},
            {**generic(softmax), "dropped element": softmax_by(lambda e: pairwise(e[..., :-1]))},
        ),
        Case(
            "logsumexp",
            draw(randn(128, 1000)),
            logsumexp,
            {**by_sums(logsumexp_by), "online": online_logsumexp},
            {**generic(logsumexp), "dropped element": logsumexp_by(lambda e: pairwise(e[..., :-1]))},
        ),
        Case(
            "layernorm",
            draw(randn(32, 257), randn(257), randn(257)),
            layer_norm,
            {**by_sums(layer_norm_by), "welford": welford_layer_norm},
            {**generic(layer_norm), "dropped element": lambda x, w, b: layer_norm_by(lambda r: pairwise(r[..., :-1]))(x, w, b)},
        ),
        Case(
            "rmsnorm",
            draw(randn(32, 257), randn(257)),
            rms_norm,
            by_sums(rms_norm_by),
            {**generic(rms_norm), "dropped element": rms_norm_by(lambda r: pairwise(r[..., :-1]))},
        ),
        Case(
            "sum",
            draw(randn(64, 2000)),
            row_sum,
            dict(SUMS),
            {**generic(row_sum), "fp16 accumulator": in_half, "dropped element": lambda x: x[..., :-1].sum(-1)},
        ),
        Case(
            "mean of positive", draw(rand(64, 2000)), row_mean, by_sums(lambda s: lambda x: s(x) / x.shape[-1]), generic(row_mean)
        ),
        Case(
            "cumsum",
            draw(randn(16, 1024)),
            cumsum,
            {"sequential": sequential_cumsum, "blocked": blocked_cumsum, "hillis-steele": hillis_steele_cumsum},
            {**generic(cumsum), "dropped element": lambda x: cumsum(F.pad(x[..., 1:], (1, 0)))},
        ),
        Case(
            "gelu",
            draw(randn(64, 256)),
            F.gelu,
            {"formula": lambda x: x * 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))},
            {**generic(F.gelu), "tanh-gelu": lambda x: F.gelu(x, approximate="tanh")},
        ),
        Case(
            "conv2d",
            draw(randn(2, 8, 12, 12), randn(12, 8, 3, 3), randn(12)),
            conv,
            by_sums(conv_by),
            {**generic(conv), "fp16 accumulator": conv_by(in_half), "dropped element": conv_by(lambda t: t[..., :-1].sum(-1))},
        ),
        Case("maxpool", draw(randn(2, 4, 17, 17)), max_pool, {}, generic(max_pool)),
        Case(
            "cross entropy",
            draw(randn(64, 100)),
            cross_entropy,
            by_sums(cross_entropy_by),
            {"x(1+1e-4)": scaled(cross_entropy), "bf16 inputs": on_narrowed(cross_entropy)},
        ),
        Case(
            "attention",
            draw(randn(1, 2, 48, 32), randn(1, 2, 48, 32), randn(1, 2, 48, 32)),
            attention,
            {**by_sums(attention_by), "flash": flash_attention},
            {**generic(attention), "fp16 accumulator": attention_by(in_half)},
        ),
        Case(
            "linear+gelu",
            draw(randn(24, 200), randn(32, 200), randn(32)),
            linear_gelu,
            by_sums(linear_gelu_by),
            {
                **generic(linear_gelu),
                "fp16 accumulator": linear_gelu_by(in_half),
                "dropped element": lambda x, w, b: linear_gelu(x[:, :-1], w[:, :-1], b),
            },
        ),
        Case(
            "gated delta rule",
            draw(randn(2, 32, 16), randn(2, 32, 16), randn(2, 32, 16), randn(2, 32), randn(2, 32)),
            delta_rule,
            by_sums(delta_rule_by, "sequential", "reverse", "pairwise"),
            {**generic(delta_rule), "bf16 state": delta_rule_by(pairwise, narrowed)},
        ),
    ]
