"""LogSumExp and cross entropy: shifts, orders, online and two-level forms, ways of picking the target, orders of the mean."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.sums import LIBRARY, orders
from kcbench.ensemble.variant import Variant

LOGSUMEXP = Form("level1/logsumexp", "x: torch.Tensor")
CROSS_ENTROPY = Form("level1/cross_entropy", "predictions: torch.Tensor, targets: torch.Tensor")
WIDE = "y = x.to(torch.promote_types(x.dtype, torch.float32))\n"
# Infinite maxima must not be subtracted from themselves.
SHIFT = """
peak = y.detach().amax(1, keepdim=True)
shift = torch.where(peak.isinf(), torch.zeros_like(peak), peak)
"""
EMPTY = "if x.numel() == 0:\n    return x.new_empty(x.shape[0])\n"

LOGARITHMS = {
    "exp": "return (torch.log(total(torch.exp(y - shift))) + shift).squeeze(1).to(x.dtype)",
    "exp2": """
log2e = 1.0 / math.log(2.0)
return (torch.log2(total(torch.exp2((y - shift) * log2e))) / log2e + shift).squeeze(1).to(x.dtype)
""",
    "mean": """
mean = total(torch.exp(y - shift)) / y.shape[1]
return (torch.log(mean) + (shift + math.log(y.shape[1]))).squeeze(1).to(x.dtype)
""",
}

ONLINE = """
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    peak = torch.full_like(y[:, 0], float("-inf"))
    total = torch.zeros_like(peak)
    for block in {blocks}:
        new_peak = torch.maximum(peak, block.detach().amax(1))
        shift = torch.where(new_peak.isinf(), torch.zeros_like(new_peak), new_peak)
        total = total * torch.exp(peak - shift) + torch.exp(block - shift[:, None]).sum(1)
        peak = new_peak
    shift = torch.where(peak.isinf(), torch.zeros_like(peak), peak)
    return (torch.log(total) + shift).to(x.dtype)
"""

BODIES = {
    "float64-library": "return torch.logsumexp(x.double(), dim=1).to(x.dtype)",
    "float32-library": "return torch.logsumexp(x.float(), dim=1).to(x.dtype)",
    "transposed": "return torch.logsumexp(x.float().t().contiguous(), dim=0).to(x.dtype)",
    "rows6": "return torch.cat([torch.logsumexp(rows.float(), dim=1) for rows in x.split(6)]).to(x.dtype)",
    "first-minus-log-softmax": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        peak, where = y.max(dim=1, keepdim=True)
        regular = peak - torch.log_softmax(y, dim=1).gather(1, where)
        return torch.where(peak.isinf(), peak, regular).squeeze(1).to(x.dtype)
    """,
    "fold-logaddexp": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        while (width := y.shape[1]) > 1:
            half = width // 2
            y = torch.cat((torch.logaddexp(y[:, :half], y[:, half : 2 * half]), y[:, 2 * half :]), dim=1)
        return y[:, 0].to(x.dtype, copy=True)
    """,
    "split-halves": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        if y.shape[1] == 1:
            return y[:, 0].to(x.dtype, copy=True)
        left, right = y.tensor_split(2, dim=1)
        return torch.logaddexp(torch.logsumexp(left, dim=1), torch.logsumexp(right, dim=1)).to(x.dtype)
    """,
}

FUNCTION = """
    class LogSumExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.to(torch.promote_types(x.dtype, torch.float32))
            if y.numel() == 0:
                return x.new_empty(x.shape[0])
            peak = y.amax(1, keepdim=True)
            shift = torch.where(peak.isinf(), torch.zeros_like(peak), peak)
            e = torch.exp(y - shift)
            total = e.sum(1, keepdim=True)
            ctx.save_for_backward({saved})
            return (torch.log(total) + shift).squeeze(1).to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            {restored} = ctx.saved_tensors
            return ({formula} * grad.to(torch.float32)[:, None]).to(grad.dtype)
"""
BACKWARDS = {
    "quotient": ("e, total", "e, total", "e / total"),
    "softmax": ("x", "(x,)", "torch.softmax(x.float(), dim=1)"),
    "reciprocal": ("e, total.reciprocal()", "e, scale", "e * scale"),
}

LOGITS = "x = predictions.to(torch.promote_types(predictions.dtype, torch.float32))\n"
PICKS = {
    "gather": "picked = z.gather(1, targets[:, None]).squeeze(1)\n",
    "index": "picked = z[torch.arange(len(z), device=z.device), targets]\n",
    "masked-sum": """
hit = torch.arange(z.shape[1], device=z.device) == targets[:, None]
picked = z.masked_fill(~hit, 0.0).sum(1)
""",
    "take-along": "picked = torch.take_along_dim(z, targets[:, None], dim=1)[:, 0]\n",
}
SHIFTED = "z = x - x.detach().amax(1, keepdim=True)\n"
LOSS = "losses = torch.log(total(torch.exp(z))).squeeze(1) - picked\n"
MEANS = {
    "mean": "return losses.mean().to(predictions.dtype)",
    "sum": "return (losses.sum() / len(targets)).to(predictions.dtype)",
    "scaled": "return (losses / len(targets)).sum().to(predictions.dtype)",
    "float64": "return losses.double().mean().to(predictions.dtype)",
    "flipped": "return (losses.flip(0).cumsum(0)[-1] / len(targets)).to(predictions.dtype)",
    "dot": "return (losses @ torch.full_like(losses, 1.0 / len(targets))).to(predictions.dtype)",
    "rows8": "return (torch.stack([part.sum() for part in losses.split(8)]).sum() / len(targets)).to(predictions.dtype)",
}

ENTROPY_BODIES = {
    "log-softmax nll": LOGITS + "return F.nll_loss(torch.log_softmax(x, dim=1), targets).to(predictions.dtype)",
    "library rows5": """
        parts = zip(predictions.float().split(5), targets.split(5))
        losses = [F.cross_entropy(rows, wanted, reduction="sum") for rows, wanted in parts]
        return (torch.stack(losses).sum() / len(targets)).to(predictions.dtype)
    """,
    "library none-mean": """
        losses = F.cross_entropy(predictions.float(), targets, reduction="none")
        return losses.mean().to(predictions.dtype)
    """,
    "library float64": "return F.cross_entropy(predictions.double(), targets).to(predictions.dtype)",
    "log-of-softmax": """
        y = predictions.double()
        picked = torch.softmax(y, dim=1).gather(1, targets[:, None])
        direct = torch.logsumexp(y, dim=1, keepdim=True) - y.gather(1, targets[:, None])
        # The logarithm of a probability is exact enough only where the probability is not tiny.
        return torch.where(picked <= 0.5, direct, -torch.log(picked)).mean().to(predictions.dtype)
    """,
}
for _block in (16, 32, 64, 128):
    ENTROPY_BODIES[f"online{_block}"] = f"""
        y = predictions.to(torch.promote_types(predictions.dtype, torch.float32))
        peak = torch.full_like(y[:, :1], float("-inf"))
        total = torch.zeros_like(peak)
        for block in y.split({_block}, dim=1):
            new_peak = torch.maximum(peak, block.detach().amax(1, keepdim=True))
            shift = torch.where(new_peak == float("-inf"), torch.zeros_like(new_peak), new_peak)
            total = total * torch.exp(peak - shift) + torch.exp(block - shift).sum(1, keepdim=True)
            peak = new_peak
        picked = y.gather(1, targets[:, None])
        return (torch.log(total) - (picked - peak)).mean().to(predictions.dtype)
    """

ENTROPY_FUNCTION = """
    class CrossEntropy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, predictions, targets):
            y = predictions.to(torch.promote_types(predictions.dtype, torch.float32))
            z = y - y.amax(1, keepdim=True)
            e = torch.exp(z)
            total = e.sum(1, keepdim=True)
            ctx.save_for_backward(z, total, targets)
            ctx.dtype = predictions.dtype
            return (torch.log(total) - z.gather(1, targets[:, None])).mean().to(predictions.dtype)

        @staticmethod
        def backward(ctx, grad):
            z, total, targets = ctx.saved_tensors
            delta = {probabilities}
            {subtract}
            return (delta * (grad.to(delta.dtype) / len(targets))).to(ctx.dtype), None
"""
ENTROPY_BACKWARDS = {
    "quotient scatter": ("torch.exp(z) / total", "delta.scatter_add_(1, targets[:, None], -torch.ones_like(total))"),
    "log index": (
        "torch.exp(z - torch.log(total))",
        "delta[torch.arange(len(z), device=z.device), targets] -= 1.0",
    ),
    "expm1 one-hot": (
        "torch.exp(z) / total",
        "delta = delta - F.one_hot(targets, z.shape[1]).to(delta.dtype)",
    ),
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    names = "forward flipped pairwise kahan neumaier float64 sorted ones blocked16 blocked64 split4 strided8"
    for name, order in orders(names).items():
        yield LOGSUMEXP.torch(f"{name} exp", EMPTY + WIDE + SHIFT + LOGARITHMS["exp"], order)
    for name, logarithm in (("blocked32", "exp2"), ("tree32", "exp2"), ("split8", "mean"), ("descending", "mean")):
        yield LOGSUMEXP.torch(f"{name} {logarithm}", EMPTY + WIDE + SHIFT + LOGARITHMS[logarithm], *orders(name).values())
    for block in (16, 32, 64, 128):
        yield LOGSUMEXP.torch(f"online{block}", ONLINE.format(blocks=f"y.split({block}, dim=1)"))
    yield LOGSUMEXP.torch("online16 reversed", ONLINE.format(blocks="reversed(y.split(16, dim=1))"))
    for name, body in BODIES.items():
        yield LOGSUMEXP.torch(name, body)
    for name, (saved, restored, formula) in BACKWARDS.items():
        text = FUNCTION.format(saved=saved, restored=restored, formula=formula)
        yield LOGSUMEXP.torch(f"function {name}", "return LogSumExp.apply(x)", text)

    for mean in MEANS:
        yield CROSS_ENTROPY.torch(f"gather {mean}", LOGITS + SHIFTED + PICKS["gather"] + LOSS + MEANS[mean], LIBRARY)
    for order_name, pick, mean in (
        ("forward", "index", "mean"),
        ("kahan", "index", "sum"),
        ("pairwise", "take-along", "mean"),
        ("blocked32", "masked-sum", "mean"),
        ("sorted", "masked-sum", "rows8"),
        ("float64", "index", "float64"),
        ("split4", "gather", "dot"),
        ("strided8", "take-along", "scaled"),
    ):
        body = LOGITS + SHIFTED + PICKS[pick] + LOSS + MEANS[mean]
        yield CROSS_ENTROPY.torch(f"{order_name} {pick} {mean}", body, *orders(order_name).values())
    for name, body in ENTROPY_BODIES.items():
        yield CROSS_ENTROPY.torch(name, body)
    for name, (probabilities, subtract) in ENTROPY_BACKWARDS.items():
        text = ENTROPY_FUNCTION.format(probabilities=probabilities, subtract=subtract)
        yield CROSS_ENTROPY.torch(f"function {name}", "return CrossEntropy.apply(predictions, targets)", text)
