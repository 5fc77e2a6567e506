"""Gated delta rule: token by token in several forms, chunkwise with several triangular inverses, handwritten backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.variant import Variant

RULE = Form(
    "level4/gated_delta_rule",
    "q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor",
)

TOKENS = """
    work = torch.promote_types(v.dtype, torch.float32)
    scale = q.shape[-1] ** -0.5
    queries, keys, values, gates, rates = ({wide}.movedim(1, 0) for t in (q, k, v, g, beta))
    state = queries.new_zeros({state})
    outputs = []
    for query, key, value, gate, rate in zip(queries, keys, values, gates, rates):
        {step}
    return torch.stack(outputs, dim=1).to(v.dtype)
"""
KEYS_BY_VALUES = "len(v), v.shape[2], q.shape[3], v.shape[3]"
VALUES_BY_KEYS = "len(v), v.shape[2], v.shape[3], q.shape[3]"
STEPS = {
    "einsum": """
        state = state * gate.exp()[..., None, None]
        update = rate[..., None] * (value - torch.einsum("bhkv,bhk->bhv", state, key))
        state = state + torch.einsum("bhk,bhv->bhkv", key, update)
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, query) * scale)
    """,
    "products": """
        state = state * gate.exp()[..., None, None]
        update = rate[..., None] * (value - (state * key[..., None]).sum(2))
        state = state + key[..., None] * update[..., None, :]
        outputs.append((state * (query * scale)[..., None]).sum(2))
    """,
    "matmul": """
        state = state * gate.exp()[..., None, None]
        recalled = key[..., None, :] @ state
        state = state + key[..., None] @ (rate[..., None, None] * (value[..., None, :] - recalled))
        outputs.append(((query * scale)[..., None, :] @ state)[..., 0, :])
    """,
    "late-decay": """
        decay = gate.exp()[..., None]
        update = rate[..., None] * (value - decay * (key[..., None, :] @ state)[..., 0, :])
        state = decay[..., None] * state + key[..., None] * update[..., None, :]
        outputs.append((query[..., None, :] @ state)[..., 0, :] / q.shape[-1] ** 0.5)
    """,
    "scaled-keys": """
        state = state * gate.exp()[..., None, None]
        scaled = rate[..., None] * key
        state = torch.addcmul(state, scaled[..., None], (value - torch.einsum("bhkv,bhk->bhv", state, key))[..., None, :])
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, query * scale))
    """,
    "householder": """
        scaled = (rate[..., None] * key)[..., None]
        identity = torch.eye(q.shape[-1], dtype=state.dtype, device=state.device)
        mirror = gate.exp()[..., None, None] * (identity - scaled * key[..., None, :])
        state = mirror @ state + scaled * value[..., None, :]
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, query) * scale)
    """,
    "separate-read": """
        state = state * torch.exp2(gate * (1.0 / math.log(2.0)))[..., None, None]
        update = rate[..., None] * (value - torch.einsum("bhkv,bhk->bhv", state, key))
        # What the token itself adds to its output needs no state.
        own = (query * key).sum(-1, keepdim=True) * update
        outputs.append((torch.einsum("bhkv,bhk->bhv", state, query) + own) * scale)
        state = state + key[..., None] * update[..., None, :]
    """,
    "split-keys": """
        half = q.shape[-1] // 2
        state = state * gate.exp()[..., None, None]
        recalled = key[..., None, :half] @ state[..., :half, :] + key[..., None, half:] @ state[..., half:, :]
        state = state + key[..., None] * (rate[..., None, None] * (value[..., None, :] - recalled))
        read = query[..., None, :half] @ state[..., :half, :] + query[..., None, half:] @ state[..., half:, :]
        outputs.append(read[..., 0, :] * scale)
    """,
}
TRANSPOSED_STEPS = {
    "transposed-state": """
        state = state * gate.exp()[..., None, None]
        error = value - (state * key[..., None, :]).sum(-1)
        state = state + (rate[..., None] * error)[..., None] * key[..., None, :]
        outputs.append((state * query[..., None, :]).sum(-1) * scale)
    """,
    "transposed-matmul": """
        state = state * gate.exp()[..., None, None]
        error = value - (state @ key[..., None])[..., 0]
        state = state + (rate[..., None] * error)[..., None] @ key[..., None, :]
        outputs.append((state @ (query * scale)[..., None])[..., 0])
    """,
}

CHUNKED = """
    work = torch.promote_types(v.dtype, torch.float32)
    operands = [t.to(work).transpose(1, 2) for t in (q, k, v, g, beta)]
    operands[0] = operands[0] * q.shape[-1] ** -0.5
    state = operands[0].new_zeros(len(v), v.shape[2], q.shape[3], v.shape[3])
    outputs = []
    for pieces in zip(*(t.split(CHUNK, dim=2) for t in operands)):
        out, state = chunk(*pieces, state)
        outputs.append(out)
    return torch.cat(outputs, dim=2).transpose(1, 2).to(v.dtype)
"""
CHUNK = """
    def chunk(query, key, value, gate, rate, state):
        size = query.shape[2]
        {decays}
        identity = torch.eye(size, dtype=query.dtype, device=query.device)
        strict = (rate[..., None] * (key @ key.mT) * between).tril(-1)
        {new_values}
        out = since_start[..., None] * (query @ state) + ((query @ key.mT) * between).tril() @ new
        state = state * since_start[..., -1:, None] + (key * until_end[..., None]).mT @ new
        return out, state
"""
DECAYS = {
    "cumsum": """
        total = gate.cumsum(-1)
        upper = torch.ones(size, size, dtype=torch.bool, device=gate.device).triu(1)
        # Masked before the exponential: above the diagonal the exponent is positive and could overflow.
        between = (total[..., :, None] - total[..., None, :]).masked_fill(upper, float("-inf")).exp()
        since_start, until_end = total.exp(), (total[..., -1:] - total).exp()
    """,
    "float64": """
        total = gate.double().cumsum(-1)
        upper = torch.ones(size, size, dtype=torch.bool, device=gate.device).triu(1)
        gaps = (total[..., :, None] - total[..., None, :]).masked_fill(upper, float("-inf"))
        between, since_start, until_end = (t.exp().to(gate.dtype) for t in (gaps, total, total[..., -1:] - total))
    """,
    "segments": """
        lower = torch.ones(size, size, dtype=torch.bool, device=gate.device).tril()
        # Every gap is a sum of its own terms, so that nothing cancels.
        gaps = gate[..., :, None].expand(*gate.shape, size).masked_fill(~lower.tril(-1), 0.0).cumsum(-2)
        between = gaps.masked_fill(~lower, float("-inf")).exp()
        since_start, until_end = gate.cumsum(-1).exp(), between[..., -1, :]
    """,
}
NEW_VALUES = {
    "solve": """
        wanted = rate[..., None] * (value - since_start[..., None] * (key @ state))
        new = torch.linalg.solve_triangular(identity + strict, wanted, upper=False, unitriangular=True)
    """,
    "inverse": """
        inverse = torch.linalg.solve_triangular(identity + strict, identity.expand_as(strict), upper=False, unitriangular=True)
        new = inverse @ (rate[..., None] * (value - since_start[..., None] * (key @ state)))
    """,
    "wy": """
        # W and U do not depend on the state, so that a kernel can make them for all chunks at once.
        pair = torch.cat((rate[..., None] * value, (rate * since_start)[..., None] * key), dim=-1)
        pair = torch.linalg.solve_triangular(identity + strict, pair, upper=False, unitriangular=True)
        new = pair[..., : value.shape[-1]] - pair[..., value.shape[-1] :] @ state
    """,
    "substitution": """
        wanted = rate[..., None] * (value - since_start[..., None] * (key @ state))
        rows = []
        for i in range(size):
            known = strict[..., i, None, :i] @ torch.stack(rows, dim=-2) if rows else 0.0
            rows.append((wanted[..., i, None, :] - known)[..., 0, :])
        new = torch.stack(rows, dim=-2)
    """,
    "powers": """
        inverse, power, reach = identity - strict, strict, 1
        # (I + L)^-1 = (I - L)(I + L^2)(I + L^4)..., which ends, since a strict triangle is nilpotent.
        while 2 * reach < size:
            power, reach = power @ power, 2 * reach
            inverse = inverse + inverse @ power
        new = inverse @ (rate[..., None] * (value - since_start[..., None] * (key @ state)))
    """,
}
CHUNKWISE = (
    (8, "cumsum", "solve"),
    (16, "cumsum", "solve"),
    (32, "cumsum", "solve"),
    (64, "cumsum", "solve"),
    (16, "float64", "wy"),
    (32, "segments", "wy"),
    (64, "float64", "wy"),
    (8, "segments", "powers"),
    (16, "cumsum", "powers"),
    (32, "float64", "powers"),
    (4, "cumsum", "substitution"),
    (16, "segments", "substitution"),
    (24, "float64", "inverse"),
    (64, "segments", "inverse"),
    (2, "cumsum", "substitution"),
)

FORWARD = """
    def run(q, k, v, g, beta):
        \"\"\"Outputs, and for every token the decayed state, the state and the update.\"\"\"
        state = q.new_zeros(len(v), v.shape[2], q.shape[3], v.shape[3])
        outputs, trace = [], []
        for t in range(q.shape[1]):
            decayed = state * g[:, t].exp()[..., None, None]
            error = v[:, t] - torch.einsum("bhkv,bhk->bhv", decayed, k[:, t])
            state = decayed + k[:, t, :, :, None] * (beta[:, t, :, None] * error)[:, :, None]
            outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]))
            trace.append((decayed, state, error))
        return torch.stack(outputs, dim=1) * q.shape[3] ** -0.5, trace
"""
FUNCTION = """
    class DeltaRule(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *operands):
            ctx.save_for_backward(*operands)
            work = torch.promote_types(operands[2].dtype, torch.float32)
            out, trace = run(*(t.to(work) for t in operands))
            {keep}
            return out.to(operands[2].dtype)

        @staticmethod
        def backward(ctx, grad):
            q, k, v, g, beta = (t.to(torch.promote_types(t.dtype, torch.float32)) for t in ctx.saved_tensors)
            trace = {trace}
            grad_out = grad.to(q.dtype) * q.shape[3] ** -0.5
            grads, toward = [], torch.zeros_like(trace[0][0])
            for t in reversed(range(q.shape[1])):
                decayed, state, error = trace[t]
                key, rate, out = k[:, t], beta[:, t, :, None], grad_out[:, t]
                toward = toward + q[:, t, :, :, None] * out[:, :, None]
                update = {update}
                dq, dk = (state @ out[..., None])[..., 0], (toward @ (rate * error)[..., None])[..., 0]
                dk = dk - (decayed @ (rate * update)[..., None])[..., 0]
                toward = toward - key[..., None] * (rate * update)[:, :, None]
                dg = (toward * decayed).sum((2, 3))
                grads.append((dq, dk, rate * update, dg, (update * error).sum(-1)))
                toward = toward * g[:, t].exp()[..., None, None]
            stacked = (torch.stack(parts[::-1], dim=1) for parts in zip(*grads))
            return tuple(part.to(grad.dtype) for part in stacked)
"""
BACKWARDS = {
    "saved-states": ("ctx.trace = trace", "ctx.trace", 'torch.einsum("bhkv,bhk->bhv", toward, key)'),
    "recomputed-states": ("del trace", "run(q, k, v, g, beta)[1]", "(key[..., None, :] @ toward)[..., 0, :]"),
    "recomputed-products": ("del trace", "run(q, k, v, g, beta)[1]", "(key[..., None] * toward).sum(2)"),
}

BODIES = {
    "folded-bmm": """
        batch, steps, heads, width = v.shape
        work = torch.promote_types(v.dtype, torch.float32)
        operands = [t.to(work).movedim(1, 0).flatten(1, 2) for t in (q, k, v, g, beta)]
        state = operands[0].new_zeros(batch * heads, q.shape[3], width)
        outputs = []
        for query, key, value, gate, rate in zip(*operands):
            state = gate.exp()[:, None, None] * state
            error = value[:, None, :] - torch.bmm(key[:, None, :], state)
            state = torch.baddbmm(state, (rate[:, None] * key)[:, :, None], error)
            outputs.append(torch.bmm(query[:, None, :], state)[:, 0] * q.shape[3] ** -0.5)
        return torch.stack(outputs).unflatten(1, (batch, heads)).movedim(0, 1).to(v.dtype)
    """,
    "head-by-head": """
        work = torch.promote_types(v.dtype, torch.float32)
        heads = []
        for h in range(v.shape[2]):
            query, key, value, gate, rate = (t[:, :, h].to(work) for t in (q, k, v, g, beta))
            state, steps = value.new_zeros(len(v), q.shape[3], v.shape[3]), []
            for t in range(v.shape[1]):
                state = state * gate[:, t].exp()[:, None, None]
                error = value[:, t, None] - key[:, t, None] @ state
                state = state + key[:, t, :, None] * (rate[:, t, None, None] * error)
                steps.append((query[:, t, None] @ state)[:, 0] * q.shape[3] ** -0.5)
            heads.append(torch.stack(steps, dim=1))
        return torch.stack(heads, dim=2).to(v.dtype)
    """,
    "value-blocks": """
        work = torch.promote_types(v.dtype, torch.float32)
        query, key, gate, rate = (t.to(work) for t in (q, k, g, beta))
        blocks = []
        # Columns of the state never meet, so that each block of them is a recurrence of its own.
        for value in v.to(work).split(32, dim=3):
            state, steps = value.new_zeros(len(v), v.shape[2], q.shape[3], value.shape[3]), []
            for t in range(v.shape[1]):
                state = state * gate[:, t].exp()[..., None, None]
                error = value[:, t] - (key[:, t, :, None] @ state)[:, :, 0]
                state = state + key[:, t, ..., None] * (rate[:, t, :, None] * error)[:, :, None]
                steps.append((query[:, t, :, None] @ state)[:, :, 0])
            blocks.append(torch.stack(steps, dim=1) * q.shape[3] ** -0.5)
        return torch.cat(blocks, dim=3).to(v.dtype)
    """,
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for steps, state in ((STEPS, KEYS_BY_VALUES), (TRANSPOSED_STEPS, VALUES_BY_KEYS)):
        for name, step in steps.items():
            yield RULE.torch(name, _tokens(step, state, "t.to(work)"))
    for name in ("einsum", "householder"):
        yield RULE.torch(f"{name} float64", _tokens(STEPS[name], KEYS_BY_VALUES, "t.double()"))
    for name, body in BODIES.items():
        yield RULE.torch(name, body)
    for size, decays, new_values in CHUNKWISE:
        text = CHUNK.format(decays=DECAYS[decays].strip(), new_values=NEW_VALUES[new_values].strip())
        yield RULE.torch(f"chunk{size} {decays} {new_values}", CHUNKED, text, constants={"CHUNK": size})
    for name, (keep, trace, update) in BACKWARDS.items():
        text = FUNCTION.format(keep=keep, trace=trace, update=update)
        yield RULE.torch(f"function {name}", "return DeltaRule.apply(q, k, v, g, beta)", FORWARD, text)


def _tokens(step: str, state: str, wide: str) -> str:
    text = TOKENS.format(step=step.strip(), state=state, wide=wide)
    return text.replace("    work = torch.promote_types(v.dtype, torch.float32)\n", "") if "double" in wide else text
