"""Attention: unfused chains, tiles of keys and queries with an online softmax, places of the scale, layouts, backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.sums import orders
from kcbench.ensemble.variant import Variant

ATTENTION = Form("level1/attention", "q: torch.Tensor, k: torch.Tensor, v: torch.Tensor")
WIDE = """
work = torch.promote_types(q.dtype, torch.float32)
query, key, value = q.to(work), k.to(work), v.to(work)
"""
SCORES = {
    "scale-query": "scores = (query * q.shape[-1] ** -0.5) @ key.mT\n",
    "scale-key": "scores = query @ (key * q.shape[-1] ** -0.5).mT\n",
    "scale-scores": "scores = (query @ key.mT) * q.shape[-1] ** -0.5\n",
    "divide-scores": "scores = (query @ key.mT) / math.sqrt(q.shape[-1])\n",
    "scale-both": "root = q.shape[-1] ** -0.25\nscores = (query * root) @ (key * root).mT\n",
    "einsum": 'scores = torch.einsum("bhid,bhjd->bhij", query, key) * q.shape[-1] ** -0.5\n',
    "transposed": "scores = (key @ query.mT).mT * q.shape[-1] ** -0.5\n",
    "split-width": """
half = q.shape[-1] // 2
scores = query[..., :half] @ key[..., :half].mT + query[..., half:] @ key[..., half:].mT
scores = scores * q.shape[-1] ** -0.5
""",
    "products": "scores = (query[..., :, None, :] * key[..., None, :, :]).sum(-1) * q.shape[-1] ** -0.5\n",
}
MIXES = {
    "softmax": "return (torch.softmax(scores, dim=-1) @ value).to(q.dtype)",
    "log-softmax": "return (torch.log_softmax(scores, dim=-1).exp() @ value).to(q.dtype)",
    "normalize-first": """
weights = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
return ((weights / total(weights)) @ value).to(q.dtype)
""",
    "normalize-last": """
weights = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
return ((weights @ value) / total(weights)).to(q.dtype)
""",
    "exp2-last": """
weights = torch.exp2((scores - scores.detach().amax(-1, keepdim=True)) * (1.0 / math.log(2.0)))
return ((weights @ value) * total(weights).reciprocal()).to(q.dtype)
""",
    "einsum": 'return torch.einsum("bhij,bhjd->bhid", torch.softmax(scores, dim=-1), value).to(q.dtype)',
    "split-keys": """
weights = torch.softmax(scores, dim=-1)
pieces = zip(weights.split(32, dim=-1), value.split(32, dim=-2))
return sum(part @ rows for part, rows in pieces).to(q.dtype)
""",
    "sum-column": """
weights = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
# A column of ones carries the sum of the weights through the same product.
mixed = weights @ torch.cat((value, torch.ones_like(value[..., :1])), dim=-1)
return (mixed[..., :-1] / mixed[..., -1:]).to(q.dtype)
""",
}
UNFUSED = (
    "scale-query softmax",
    "scale-key softmax",
    "scale-scores log-softmax",
    "divide-scores softmax",
    "scale-both softmax",
    "einsum einsum",
    "transposed split-keys",
    "split-width softmax",
    "products softmax",
    "scale-query sum-column",
)
ORDERED = (
    ("scale-query", "normalize-first", "forward"),
    ("scale-query", "normalize-last", "pairwise"),
    ("scale-scores", "normalize-last", "blocked16"),
    ("divide-scores", "normalize-first", "kahan16"),
    ("scale-both", "exp2-last", "split4"),
    ("scale-scores", "exp2-last", "strided8"),
    ("scale-query", "normalize-last", "float64"),
)
FLASH = """
    work = torch.promote_types(q.dtype, torch.float32)
    query, keys, values = q.to(work){scale}, k.to(work), v.to(work)
    peak = torch.full_like(query[..., :1], float("-inf"))
    total, mixed = torch.zeros_like(peak), torch.zeros_like(query)
    for key, value in {tiles}:
        scores = query @ key.mT
        new_peak = torch.maximum(peak, scores.detach().amax(-1, keepdim=True))
        # As long as all is -inf the difference to the maximum is NaN: shift by nothing then.
        shift = torch.where(new_peak == float("-inf"), torch.zeros_like(new_peak), new_peak)
        decay, weights = {exponential}(peak - shift), {exponential}(scores - shift)
        total = total * decay + weights.sum(-1, keepdim=True)
        mixed = mixed * decay + weights @ value
        peak = new_peak
    return (mixed / total).to(q.dtype)
"""
TILES = "zip(keys.split({size}, dim=-2), values.split({size}, dim=-2))"
EXP2_SCALE = " * (q.shape[-1] ** -0.5 / math.log(2.0))"

BODIES = {
    "library-float32": "return F.scaled_dot_product_attention(q.float(), k.float(), v.float()).to(q.dtype)",
    "library-own-scale": """
        query = q.float() * q.shape[-1] ** -0.5
        return F.scaled_dot_product_attention(query, k.float(), v.float(), scale=1.0).to(q.dtype)
    """,
    "library-copies": """
        copies = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v))
        return F.scaled_dot_product_attention(*copies)
    """,
    "library-flipped-keys": """
        key, value = k.float().flip(2), v.float().flip(2)
        return F.scaled_dot_product_attention(q.float(), key, value).to(q.dtype)
    """,
    "library-mask": """
        mask = torch.zeros(q.shape[2], k.shape[2], dtype=q.dtype, device=q.device)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    """,
    "float64": """
        scores = q.double() @ k.double().mT / math.sqrt(q.shape[-1])
        return (torch.softmax(scores, dim=-1) @ v.double()).to(q.dtype)
    """,
    "folded-baddbmm": WIDE
    + """
if q.numel() == 0:
    return torch.empty_like(q)
query, key, value = (t.flatten(0, 1) for t in (query, key, value))
zeros = query.new_zeros(len(query), query.shape[1], key.shape[1])
scores = torch.baddbmm(zeros, query, key.mT, beta=0.0, alpha=q.shape[-1] ** -0.5)
return torch.bmm(torch.softmax(scores, dim=-1), value).view(q.shape).to(q.dtype)
""",
    "head-by-head": WIDE
    + """
heads = []
for h in range(q.shape[1]):
    scores = query[:, h] @ key[:, h].mT * q.shape[-1] ** -0.5
    heads.append(torch.softmax(scores, dim=-1) @ value[:, h])
return torch.stack(heads, dim=1).to(q.dtype)
""",
    "query-rows16": WIDE
    + """
rows = [torch.softmax(part @ key.mT * q.shape[-1] ** -0.5, dim=-1) @ value for part in query.split(16, dim=2)]
return torch.cat(rows, dim=2).to(q.dtype)
""",
    "two-level": WIDE
    + """
# Every block of keys is attended to on its own; the blocks are weighted by their sums.
scale, parts, sums = q.shape[-1] ** -0.5, [], []
for some_keys, some_values in zip(key.split(40, dim=2), value.split(40, dim=2)):
    scores = query @ some_keys.mT * scale
    sums.append(torch.logsumexp(scores, dim=-1))
    parts.append(torch.softmax(scores, dim=-1) @ some_values)
weights = torch.softmax(torch.stack(sums), dim=0)[..., None]
return (weights * torch.stack(parts)).sum(0).to(q.dtype)
""",
}

FUNCTION = """
    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):
            work = torch.promote_types(q.dtype, torch.float32)
            scores = q.to(work) @ k.to(work).mT * q.shape[-1] ** -0.5
            total = torch.logsumexp(scores, dim=-1, keepdim=True)
            out = torch.softmax(scores, dim=-1) @ v.to(work)
            ctx.save_for_backward(q, k, v, out, total)
            return out.to(q.dtype)

        @staticmethod
        def backward(ctx, grad):
            q, k, v, out, total = (t.to(torch.promote_types(t.dtype, torch.float32)) for t in ctx.saved_tensors)
            g, scale = grad.to(out.dtype), q.shape[-1] ** -0.5
            {gradients}
            return dq.to(grad.dtype), dk.to(grad.dtype), dv.to(grad.dtype)
"""
BACKWARDS = {
    "recomputed": """weights = torch.exp(q @ k.mT * scale - total)
            slopes = weights * (g @ v.mT - (g * out).sum(-1, keepdim=True)) * scale
            dq, dk, dv = slopes @ k, slopes.mT @ q, weights.mT @ g""",
    "tiles24": """inner, dq, dk, dv = (g * out).sum(-1, keepdim=True), torch.zeros_like(q), [], []
            for key, value in zip(k.split(24, dim=2), v.split(24, dim=2)):
                weights = torch.exp(q @ key.mT * scale - total)
                slopes = weights * (g @ value.mT - inner)
                dq = dq + slopes @ key
                dk.append(slopes.mT @ q * scale)
                dv.append(weights.mT @ g)
            dq, dk, dv = dq * scale, torch.cat(dk, dim=2), torch.cat(dv, dim=2)""",
    "softmax-formula": """weights = torch.softmax(q @ k.mT * scale, dim=-1)
            toward = g @ v.mT
            slopes = weights * toward - weights * (weights * toward).sum(-1, keepdim=True)
            dq, dk, dv = slopes @ (k * scale), (q * scale).mT.matmul(slopes).mT, (g.mT @ weights).mT""",
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for combination in UNFUSED:
        score, mix = combination.split()
        yield ATTENTION.torch(combination, WIDE + SCORES[score] + MIXES[mix])
    for score, mix, name in ORDERED:
        yield ATTENTION.torch(f"{score} {mix} {name}", WIDE + SCORES[score] + MIXES[mix], *orders(name).values())
    scale = " * q.shape[-1] ** -0.5"
    for size in (16, 32, 64, 128):
        body = FLASH.format(scale=scale, tiles=TILES.format(size=size), exponential="torch.exp")
        yield ATTENTION.torch(f"flash{size}", body)
    for size in (24, 48):
        body = FLASH.format(scale=EXP2_SCALE, tiles=TILES.format(size=size), exponential="torch.exp2")
        yield ATTENTION.torch(f"flash{size} exp2", body)
    backward = f"reversed(list({TILES.format(size=32)}))"
    yield ATTENTION.torch("flash32 reversed", FLASH.format(scale=scale, tiles=backward, exponential="torch.exp"))
    for name, body in BODIES.items():
        yield ATTENTION.torch(name, body)
    for name, gradients in BACKWARDS.items():
        yield ATTENTION.torch(f"function {name}", "return Attention.apply(q, k, v)", FUNCTION.format(gradients=gradients))
