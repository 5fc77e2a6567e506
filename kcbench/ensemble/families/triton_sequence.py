"""Triton kernels over sequences: attention with an online softmax or in two passes, and the gated delta rule token by token."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.families.attention import ATTENTION
from kcbench.ensemble.families.recurrence import FORWARD, RULE
from kcbench.ensemble.families.recurrence import FUNCTION as RULE_FUNCTION
from kcbench.ensemble.variant import Variant

ATTENTION_LAUNCH = """
    query, key, value = q.contiguous(), k.contiguous(), v.contiguous()
    out = torch.empty_like(query)
    heads, length, width = query.shape[0] * query.shape[1], query.shape[2], query.shape[3]
    if out.numel():
        grid = (triton.cdiv(length, BM), heads)
        attention_kernel[grid](query, key, value, out, length, {scale}, WIDTH=width, BM=BM, BN=BN)
    return out
"""
ATTENTION_KERNEL = """
    @triton.jit
    def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
        base = tl.program_id(1).to(tl.int64) * length * WIDTH
        rows = tl.program_id(0) * BM + tl.arange(0, BM)
        lanes = tl.arange(0, WIDTH)
        q = tl.load(q_ptr + base + rows[:, None] * WIDTH + lanes[None, :], mask=rows[:, None] < length, other=0.0)
        q = q.to(tl.float32){scale_query}
        peak = tl.full((BM,), float("-inf"), tl.float32)
        total = tl.full((BM,), 0.0, tl.float32)
        mixed = tl.full((BM, WIDTH), 0.0, tl.float32)
        {loops}
        tl.store(out_ptr + base + rows[:, None] * WIDTH + lanes[None, :], mixed / total[:, None], mask=rows[:, None] < length)
"""
SCORES = """
            columns = start + tl.arange(0, BN)
            k = tl.load(k_ptr + base + columns[None, :] * WIDTH + lanes[:, None], mask=columns[None, :] < length, other=0.0)
            scores = tl.dot(q, k.to(tl.float32), input_precision="ieee"){scale_scores}
            scores = tl.where(columns[None, :] < length, scores, float("-inf"))
""".strip("\n")
VALUES = """
            v = tl.load(v_ptr + base + columns[:, None] * WIDTH + lanes[None, :], mask=columns[:, None] < length, other=0.0)
            v = v.to(tl.float32)
""".strip("\n")
LOOPS = {
    "online": """
        for start in {order}:
{scores}
            above = tl.maximum(peak, tl.max(scores, axis=1))
            # Nothing but -inf so far: shift by nothing. NaN comes in with its own exponential.
            shift = tl.where(above == float("-inf"), 0.0, above)
            weights, decay = tl.{exp}(scores - shift[:, None]), tl.{exp}(peak - shift)
            total = total * decay + tl.sum(weights, axis=1)
{values}
            mixed = tl.dot(weights, v, mixed * decay[:, None], input_precision="ieee")
            peak = above
    """,
    "two-pass": """
        for start in {order}:
{scores}
            peak = tl.maximum(peak, tl.max(scores, axis=1))
        for start in {order}:
{scores}
            weights = tl.{exp}(scores - peak[:, None])
            total += tl.sum(weights, axis=1)
{values}
            mixed += tl.dot(weights, v, input_precision="ieee")
    """,
}
FORWARD_ORDER = "range(0, length, BN)"
BACKWARD_ORDER = "range((length - 1) // BN * BN, -1, -BN)"
PLAIN_SCALE = "width**-0.5"
LOG2_SCALE = "width**-0.5 * 1.4426950408889634"

RULE_KERNEL = """
    @triton.jit
    def delta_kernel(
        q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, out_ptr, steps, heads, scale,
        KEYS: tl.constexpr, VALUES: tl.constexpr, BV: tl.constexpr,
    ):
        batch, head = tl.program_id(0).to(tl.int64) // heads, tl.program_id(0) % heads
        keys = tl.arange(0, KEYS)
        values = tl.program_id(1) * BV + tl.arange(0, BV)
        state = tl.full({shape}, 0.0, tl.float32)
        for t in range(0, steps):
            token = (batch * steps + t) * heads + head
            q = tl.load(q_ptr + token * KEYS + keys).to(tl.float32)
            k = tl.load(k_ptr + token * KEYS + keys).to(tl.float32)
            v = tl.load(v_ptr + token * VALUES + values).to(tl.float32)
            decay = tl.exp(tl.load(g_ptr + token).to(tl.float32))
            rate = tl.load(beta_ptr + token).to(tl.float32)
            {step}
            tl.store(out_ptr + token * VALUES + values, out)


    def launch(q, k, v, g, beta):
        q, k, v, g, beta = (t.contiguous() for t in (q, k, v, g, beta))
        out = torch.empty_like(v)
        if out.numel():
            batch, steps, heads, width = v.shape
            grid = (batch * heads, width // {block})
            sizes = {{"KEYS": q.shape[3], "VALUES": width, "BV": {block}}}
            delta_kernel[grid](q, k, v, g, beta, out, steps, heads, q.shape[3] ** -0.5, **sizes)
        return out
"""
RULE_STEPS = {
    "keys-by-values": (
        "(KEYS, BV)",
        """state *= decay
            update = rate * (v - tl.sum(state * k[:, None], axis=0))
            state += k[:, None] * update[None, :]
            out = tl.sum(state * q[:, None], axis=0) * scale""",
    ),
    "values-by-keys": (
        "(BV, KEYS)",
        """recalled = decay * tl.sum(state * k[None, :], axis=1)
            update = rate * (v - recalled)
            state = decay * state + update[:, None] * k[None, :]
            out = tl.sum(state * (q * scale)[None, :], axis=1)""",
    ),
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for kind, order, scale, where, tile in (
        ("online", FORWARD_ORDER, PLAIN_SCALE, "scores", (16, 32)),
        ("online", FORWARD_ORDER, LOG2_SCALE, "query", (32, 64)),
        ("online", BACKWARD_ORDER, LOG2_SCALE, "scores", (64, 16)),
        ("two-pass", FORWARD_ORDER, PLAIN_SCALE, "query", (32, 32)),
        ("two-pass", BACKWARD_ORDER, LOG2_SCALE, "scores", (16, 64)),
    ):
        exp = "exp2" if scale == LOG2_SCALE else "exp"
        scores = SCORES.format(scale_scores=" * scale" if where == "scores" else "")
        loops = LOOPS[kind].strip().format(order=order, scores=scores, values=VALUES, exp=exp)
        kernel = ATTENTION_KERNEL.format(loops=loops, scale_query=" * scale" if where == "query" else "")
        name = f"{kind} {exp} scaled-{where} tile{tile[0]}x{tile[1]}{' backward' if order == BACKWARD_ORDER else ''}"
        sizes = dict(zip(("BM", "BN"), tile, strict=True))
        yield ATTENTION.triton(name, ATTENTION_LAUNCH.format(scale=scale), kernel, constants=sizes)
    for name, block in (("keys-by-values", 64), ("keys-by-values", 32), ("values-by-keys", 64)):
        shape, step = RULE_STEPS[name]
        kernel = RULE_KERNEL.format(shape=shape, step=step, block=block)
        function = RULE_FUNCTION.format(
            keep="del work", trace="run(q, k, v, g, beta)[1]", update='torch.einsum("bhkv,bhk->bhv", toward, key)'
        )
        function = function.replace("            out, trace = run(*(t.to(work) for t in operands))\n", "")
        function = function.replace("            work = torch.promote_types(operands[2].dtype, torch.float32)\n", "")
        function = function.replace("            del work\n", "").replace(
            "return out.to(operands[2].dtype)", "return launch(*operands)"
        )
        yield RULE.triton(f"{name} block{block}", "return DeltaRule.apply(q, k, v, g, beta)", kernel, FORWARD, function)
