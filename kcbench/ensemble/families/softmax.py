"""Softmax: orders of the denominator's sum, online forms, formulas for exponential and quotient, handwritten backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.sums import orders
from kcbench.ensemble.variant import Variant

SOFTMAX = Form("level1/softmax", "x: torch.Tensor")
WIDE = "y = x.to(torch.promote_types(x.dtype, torch.float32))\n"
# The shift cancels in exact arithmetic, so no derivative needs to go through it.
SHIFTED = WIDE + "z = y - y.detach().amax(1, keepdim=True)\n"
EMPTY = "if x.numel() == 0:\n    return torch.empty_like(x)\n"

EXPONENTIALS = {
    "exp": "e = torch.exp(z)\n",
    "exp2": "e = torch.exp2(z * (1.0 / math.log(2.0)))\n",
    "squared": "e = torch.exp(0.5 * z).square()\n",
}
QUOTIENTS = {
    "divide": "return (e / total(e)).to(x.dtype)",
    "reciprocal": "return (e * total(e).reciprocal()).to(x.dtype)",
    "log": "return torch.exp(z - torch.log(total(e))).to(x.dtype)",
}

ONLINE = """
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    peak = torch.full_like(y[:, :1], float("-inf"))
    total = torch.zeros_like(peak)
    for block in {blocks}:
        new_peak = torch.maximum(peak, block.detach().amax(1, keepdim=True))
        # As long as all is -inf the difference to the maximum is NaN: shift by nothing then.
        shift = torch.where(new_peak == float("-inf"), torch.zeros_like(new_peak), new_peak)
        total = total * torch.exp(peak - shift) + torch.exp(block - shift).sum(1, keepdim=True)
        peak = new_peak
    shift = torch.where(peak == float("-inf"), torch.zeros_like(peak), peak)
    return (torch.exp(y - shift) / total).to(x.dtype)
"""

BODIES = {
    "log-softmax": WIDE + "return torch.exp(torch.log_softmax(y, dim=1)).to(x.dtype)",
    "softmin": WIDE + "return F.softmin(-y, dim=1).to(x.dtype)",
    "transposed": "return torch.softmax(x.t().contiguous(), dim=0).t()",
    "rows4": "return torch.cat([torch.softmax(rows, dim=1) for rows in x.split(4)])",
    "float64": EMPTY
    + "y = x.double()\ne = torch.exp(y - y.amax(1, keepdim=True))\nreturn (e / e.sum(1, keepdim=True)).to(x.dtype)",
    "blockwise-maxima": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        blocks = y.split(40, dim=1)
        peaks = torch.stack([block.detach().amax(1) for block in blocks], dim=1)
        peak = peaks.amax(1, keepdim=True)
        e = torch.cat([torch.exp(block - peak) for block in blocks], dim=1)
        sums = torch.stack([block.sum(1) for block in e.split(40, dim=1)], dim=1)
        return (e / sums.sum(1, keepdim=True)).to(x.dtype)
    """,
    "two-level": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        parts, peaks, sums = [], [], []
        for block in y.split(64, dim=1):
            peak = block.detach().amax(1, keepdim=True)
            peaks.append(torch.where(peak == float("-inf"), torch.zeros_like(peak), peak))
            parts.append(torch.exp(block - peaks[-1]))
            sums.append(parts[-1].sum(1, keepdim=True))
        top = y.detach().amax(1, keepdim=True)
        scales = [torch.exp(peak - top) for peak in peaks]
        total = sum(part * scale for part, scale in zip(sums, scales))
        return torch.cat([part * (scale / total) for part, scale in zip(parts, scales)], dim=1).to(x.dtype)
    """,
}

FUNCTION = """
    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.to(torch.promote_types(x.dtype, torch.float32))
            e = torch.exp(y - y.amax(1, keepdim=True)) if y.numel() else y
            p = e / e.sum(1, keepdim=True)
            ctx.save_for_backward(p)
            return p.to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            (p,) = ctx.saved_tensors
            g = grad.to(p.dtype)
            return ({formula}).to(grad.dtype)
"""
BACKWARDS = {
    "centred": "p * (g - (g * p).sum(1, keepdim=True))",
    "expanded": "p * g - p * (p[:, None, :] @ g[:, :, None]).squeeze(2)",
    "float64": "p * (g - (g.double() * p.double()).sum(1, keepdim=True)).to(p.dtype)",
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    names = "forward backward flipped pairwise neighbours kahan neumaier float64 sorted ones blocked16 blocked64 split4 strided8"
    for name, order in orders(names).items():
        yield SOFTMAX.torch(f"{name} exp divide", EMPTY + SHIFTED + EXPONENTIALS["exp"] + QUOTIENTS["divide"], order)
    for order_name, exponential, quotient in (
        ("blocked32", "exp2", "divide"),
        ("pairwise", "exp2", "reciprocal"),
        ("strided4", "exp", "reciprocal"),
        ("split2", "squared", "divide"),
        ("tree8", "squared", "reciprocal"),
        ("twosum", "exp", "log"),
        ("blocked128", "exp2", "log"),
        ("descending", "exp", "log"),
    ):
        body = EMPTY + SHIFTED + EXPONENTIALS[exponential] + QUOTIENTS[quotient]
        yield SOFTMAX.torch(f"{order_name} {exponential} {quotient}", body, *orders(order_name).values())
    for block in (1, 16, 32, 64, 128):
        yield SOFTMAX.torch(f"online{block}", ONLINE.format(blocks=f"y.split({block}, dim=1)"))
    yield SOFTMAX.torch("online32 reversed", ONLINE.format(blocks="reversed(y.split(32, dim=1))"))
    yield SOFTMAX.torch("online strided4", ONLINE.format(blocks="(y[:, lane::4] for lane in range(min(4, y.shape[1])))"))
    for name, body in BODIES.items():
        yield SOFTMAX.torch(name, body)
    for name, formula in BACKWARDS.items():
        yield SOFTMAX.torch(f"function {name}", "return Softmax.apply(x)", FUNCTION.format(formula=formula))
