"""Linear layer with bias and GELU: products, places of the bias, forms of GELU, fusion, layouts, backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.variant import Variant

LINEAR = Form(
    "level2/linear_bias_gelu",
    "x: torch.Tensor",
    """
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
    """,
)
WIDE = """
work = torch.promote_types(x.dtype, torch.float32)
y, weight, bias = x.to(work), self.linear.weight.to(work), self.linear.bias.to(work)
"""
PRODUCTS = {
    "linear": "s = F.linear(y, weight, bias)\n",
    "matmul": "s = y @ weight.t() + bias\n",
    "transposed": "s = y @ weight.t().contiguous() + bias\n",
    "columns": "s = (weight @ y.t() + bias[:, None]).t()\n",
    "addmm": "s = torch.addmm(bias, y, weight.t())\n",
    "einsum": 's = torch.einsum("bi,oi->bo", y, weight) + bias\n',
    "flipped": "s = F.linear(y.flip(1), weight.flip(1)) + bias\n",
    "bias-column": """
ones = torch.ones(len(y), 1, dtype=work, device=y.device)
s = torch.cat((y, ones), dim=1) @ torch.cat((weight, bias[:, None]), dim=1).t()
""",
    "bias-first-column": """
ones = torch.ones(len(y), 1, dtype=work, device=y.device)
s = torch.cat((ones, y), dim=1) @ torch.cat((bias[:, None], weight), dim=1).t()
""",
    "bias-first-blocked32": """
s = bias.expand(len(y), -1)
for left, right in zip(y.split(32, dim=1), weight.split(32, dim=1)):
    s = torch.addmm(s, left, right.t())
""",
    "blocked16": """
s = torch.zeros(len(y), len(weight), dtype=work, device=y.device)
for left, right in zip(y.split(16, dim=1), weight.split(16, dim=1)):
    s = s + left @ right.t()
s = s + bias
""",
    "blocked64-backward": """
s = torch.zeros(len(y), len(weight), dtype=work, device=y.device)
for left, right in reversed(list(zip(y.split(64, dim=1), weight.split(64, dim=1)))):
    s = s + left @ right.t()
s = s + bias
""",
    "split4": """
pieces = zip(y.chunk(4, dim=1), weight.chunk(4, dim=1))
s = torch.stack([left @ right.t() for left, right in pieces]).sum(0) + bias
""",
    "split2-bias-in-one": """
half = y.shape[1] // 2
s = (y[:, :half] @ weight[:, :half].t() + bias) + y[:, half:] @ weight[:, half:].t()
""",
    "strided4": """
s = sum(y[:, lane::4] @ weight[:, lane::4].t() for lane in range(min(4, y.shape[1]))) + bias
""",
    "multiply-and-sum": "s = (y[:, None, :] * weight).sum(2) + bias\n",
    "outer-products": """
s = bias.expand(len(y), -1)
for left, right in zip(y.unbind(1), weight.unbind(1)):
    s = torch.addcmul(s, left[:, None], right)
""",
    "rows8": "s = torch.cat([F.linear(rows, weight, bias) for rows in y.split(8)])\n",
    "outputs12": """
pairs = zip(weight.split(12), bias.split(12))
s = torch.cat([F.linear(y, part, shift) for part, shift in pairs], dim=1)
""",
    "convolution": "s = F.conv1d(y[:, :, None], weight[:, :, None], bias)[:, :, 0] if len(y) else y @ weight.t()\n",
    "float64": "s = F.linear(y.double(), weight.double(), bias.double())\n",
    "float64-product": "s = (y.double() @ weight.double().t()).to(work) + bias\n",
    "kahan16": """
s = torch.zeros(len(y), len(weight), dtype=work, device=y.device)
carry = torch.zeros_like(s)
for left, right in zip(y.split(16, dim=1), weight.split(16, dim=1)):
    term = left @ right.t() - carry
    new = s + term
    # The correction of an infinite sum is NaN, which must not get into the sum.
    carry = torch.where(new.isfinite(), (new - s) - term, torch.zeros_like(new)).detach()
    s = new
s = s + bias
""",
}
ACTIVATIONS = {
    "library": "return F.gelu(s).to(x.dtype)",
    "erf": "return (0.5 * s * (1.0 + torch.erf(s * math.sqrt(0.5)))).to(x.dtype)",
    "erfc": "return (0.5 * s * torch.erfc(-s * math.sqrt(0.5))).to(x.dtype)",
    "ndtr": "return (s * torch.special.ndtr(s)).to(x.dtype)",
    "expanded": "half = 0.5 * s\nreturn (half + half * torch.erf(s * math.sqrt(0.5))).to(x.dtype)",
    "float64": "return F.gelu(s.double()).to(x.dtype)",
}
COMBINATIONS = (
    "linear erf",
    "linear erfc",
    "linear expanded",
    "matmul library",
    "transposed ndtr",
    "columns erf",
    "addmm erfc",
    "einsum library",
    "flipped erf",
    "bias-column erf",
    "bias-first-column library",
    "bias-first-blocked32 erfc",
    "blocked16 expanded",
    "blocked64-backward ndtr",
    "split4 library",
    "split2-bias-in-one erf",
    "strided4 erfc",
    "multiply-and-sum library",
    "outer-products erf",
    "rows8 ndtr",
    "outputs12 library",
    "convolution erf",
    "float64 library",
    "float64-product erf",
    "kahan16 float64",
)

BODIES = {
    "stored-between": """
        s = F.linear(x, self.linear.weight, self.linear.bias).to(torch.promote_types(x.dtype, torch.float32))
        return (s * torch.special.ndtr(s)).to(x.dtype)
    """,
    "fused-tiles": """
        work = torch.promote_types(x.dtype, torch.float32)
        out = x.new_empty(0, self.linear.out_features)
        for rows in x.to(work).split(10):
            line = []
            for part, shift in zip(self.linear.weight.to(work).split(16), self.linear.bias.to(work).split(16)):
                s = torch.addmm(shift, rows, part.t())
                line.append((0.5 * s * torch.erfc(-s * math.sqrt(0.5))).to(x.dtype))
            out = torch.cat((out, torch.cat(line, dim=1)))
        return out
    """,
}

FUNCTION = """
    class LinearGelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            work = torch.promote_types(x.dtype, torch.float32)
            s = torch.addmm(bias.to(work), x.to(work), weight.to(work).t())
            cdf = 0.5 * torch.erfc(-s * math.sqrt(0.5))
            ctx.save_for_backward({saved})
            return (s * cdf).to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            {restored}
            pdf = torch.exp(-0.5 * s * s) * (1.0 / math.sqrt(2.0 * math.pi))
            h = grad.to(s.dtype) * (cdf + s * pdf)
            dx, dweight, dbias = {gradients}
            return dx.to(x.dtype), dweight.to(x.dtype), dbias.to(x.dtype)
"""
BACKWARDS = {
    "saved": (
        "x, weight, s, cdf",
        "x, weight, s, cdf = ctx.saved_tensors",
        "h @ weight.to(s.dtype), h.t() @ x.to(s.dtype), h.sum(0)",
    ),
    "recomputed": (
        "x, weight, bias",
        """x, weight, bias = ctx.saved_tensors
            work = torch.promote_types(x.dtype, torch.float32)
            s = F.linear(x.to(work), weight.to(work), bias.to(work))
            cdf = torch.special.ndtr(s)""",
        'torch.einsum("bo,oi->bi", h, weight.to(work)), torch.einsum("bo,bi->oi", h, x.to(work)), torch.einsum("bo->o", h)',
    ),
    "with-ones": (
        "x, weight, s, cdf",
        "x, weight, s, cdf = ctx.saved_tensors",
        """(
                (weight.to(s.dtype).t() @ h.t()).t(),
                (x.to(s.dtype).t() @ h).t(),
                (torch.ones(1, len(h), dtype=h.dtype, device=h.device) @ h)[0],
            )""",
    ),
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for combination in COMBINATIONS:
        product, activation = combination.split()
        yield LINEAR.torch(combination, WIDE + PRODUCTS[product] + ACTIVATIONS[activation])
    for name, body in BODIES.items():
        yield LINEAR.torch(name, body)
    for name, (saved, restored, gradients) in BACKWARDS.items():
        text = FUNCTION.format(saved=saved, restored=restored, gradients=gradients)
        yield LINEAR.torch(f"function {name}", "return LinearGelu.apply(x, self.linear.weight, self.linear.bias)", text)
