"""Layer and root-mean-square normalization: stable variances, orders, roots, ways of applying weights, backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.sums import LIBRARY, orders
from kcbench.ensemble.variant import Variant

LAYERNORM = Form(
    "level1/layernorm",
    "x: torch.Tensor",
    """
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)
    """,
)
RMSNORM = Form(
    "level1/rmsnorm",
    "x: torch.Tensor",
    """
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)
    """,
)
WIDE = "y = x.to(torch.promote_types(x.dtype, torch.float32))\n"
WEIGHTS = "weight, bias = self.norm.weight.to(y.dtype), self.norm.bias.to(y.dtype)\n"

MOMENTS = {
    "two-pass": """
mean = total(y) / y.shape[-1]
centred = y - mean
variance = total(centred * centred) / y.shape[-1]
""",
    "corrected": """
rough = y - total(y) / y.shape[-1]
drift = total(rough) / y.shape[-1]
centred = rough - drift
variance = total(rough * rough) / y.shape[-1] - drift * drift
""",
    "shifted-first": """
# The first element may be an outlier: then one pass needs more than float32.
shifted = (y - y[..., :1].detach()).double()
mean = total(shifted) / y.shape[-1]
variance = torch.clamp_min(total(shifted * shifted) / y.shape[-1] - mean * mean, 0.0).to(y.dtype)
centred = (shifted - mean).to(y.dtype)
""",
    "sample-mean": """
# A few elements give a shift that is close enough to the mean for one pass over the rest.
shifted = y - y[..., :16].detach().mean(-1, keepdim=True)
mean = total(shifted) / y.shape[-1]
centred = shifted - mean
variance = torch.clamp_min(total(shifted * shifted) / y.shape[-1] - mean * mean, 0.0)
""",
    "one-pass-float64": """
wide = y.double()
mean = total(wide) / y.shape[-1]
variance = torch.clamp_min(total(wide * wide) / y.shape[-1] - mean * mean, 0.0).to(y.dtype)
centred = (wide - mean).to(y.dtype)
""",
    "scaled-terms": """
centred = y - total(y / y.shape[-1])
variance = total((centred / math.sqrt(y.shape[-1])).square())
""",
}
ROOTS = {
    "rsqrt": "scaled = centred * torch.rsqrt(variance + self.norm.eps)\n",
    "divide": "scaled = centred / torch.sqrt(variance + self.norm.eps)\n",
    "inverse": "scaled = centred * (1.0 / torch.sqrt(variance + self.norm.eps))\n",
    "power": "scaled = centred * torch.pow(variance + self.norm.eps, -0.5)\n",
    "newton": """
step = torch.rsqrt(variance + self.norm.eps)
step = step * (1.5 - 0.5 * (variance + self.norm.eps) * step * step)
scaled = centred * step
""",
}
AFFINES = {
    "plain": "return (scaled * weight + bias).to(x.dtype)",
    "addcmul": "return torch.addcmul(bias, scaled, weight).to(x.dtype)",
    "float64": "return torch.addcmul(bias.double(), scaled.double(), weight.double()).to(x.dtype)",
}

WELFORD = """
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    count, mean, squares = 0, torch.zeros_like(y[..., :1]), torch.zeros_like(y[..., :1])
    for block in y.split({block}, dim=-1):
        width = block.shape[-1]
        block_mean = block.mean(-1, keepdim=True)
        delta = block_mean - mean
        block_squares = (block - block_mean).square().sum(-1, keepdim=True)
        squares = squares + block_squares + delta * delta * (count * width / (count + width))
        mean = mean + delta * (width / (count + width))
        count += width
    scaled = (y - mean) {root}
    weight, bias = self.norm.weight.to(y.dtype), self.norm.bias.to(y.dtype)
    return (scaled * weight + bias).to(x.dtype)
"""
SEQUENTIAL = """
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    mean, squares = torch.zeros_like(y[..., :1]), torch.zeros_like(y[..., :1])
    for index, column in enumerate(y.split(1, dim=-1)):
        delta = column - mean
        mean = mean + delta / (index + 1)
        squares = squares + delta * (column - mean)
    scaled = (y - mean) * torch.rsqrt(squares / y.shape[-1] + self.norm.eps)
    return (scaled * self.norm.weight.to(y.dtype) + self.norm.bias.to(y.dtype)).to(x.dtype)
"""
CHAN_TREE = """
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    # Count, mean and sum of squares of neighbouring pieces are merged until one is left.
    pieces = [(1, column, torch.zeros_like(column)) for column in y.split(1, dim=-1)]
    while len(pieces) > 1:
        merged = []
        for (n, a, p), (m, b, q) in zip(pieces[0::2], pieces[1::2]):
            delta = b - a
            merged.append((n + m, a + delta * (m / (n + m)), p + q + delta * delta * (n * m / (n + m))))
        pieces = merged + pieces[len(merged) * 2 :]
    count, mean, squares = pieces[0]
    scaled = (y - mean) * torch.rsqrt(squares / count + self.norm.eps)
    return (scaled * self.norm.weight.to(y.dtype) + self.norm.bias.to(y.dtype)).to(x.dtype)
"""
LAYER_BODIES = {
    "library-rows": """
        flat = x.flatten(0, -2)
        rows = [F.layer_norm(part, part.shape[1:], self.norm.weight, self.norm.bias, self.norm.eps) for part in flat.split(5)]
        return torch.cat(rows).view(x.shape)
    """,
    "library-unweighted": WIDE
    + WEIGHTS
    + "return (F.layer_norm(y, y.shape[-1:], eps=self.norm.eps) * weight + bias).to(x.dtype)",
    "var-mean": WIDE
    + WEIGHTS
    + """
variance, mean = torch.var_mean(y, dim=-1, correction=0, keepdim=True)
return ((y - mean) / torch.sqrt(variance + self.norm.eps) * weight + bias).to(x.dtype)
""",
    "centring-matrix": WIDE
    + WEIGHTS
    + """
size = y.shape[-1]
centred = y - (y @ torch.full((size, 1), 1.0 / size, dtype=y.dtype, device=y.device))
length = torch.linalg.vector_norm(centred, dim=-1, keepdim=True)
return (centred / torch.sqrt(length * length / size + self.norm.eps) * weight + bias).to(x.dtype)
""",
    "group-norm": """
        y = x.flatten(0, -2).to(torch.promote_types(x.dtype, torch.float32))
        weight, bias = self.norm.weight.to(y.dtype), self.norm.bias.to(y.dtype)
        return F.group_norm(y, 1, weight, bias, self.norm.eps).view(x.shape).to(x.dtype)
    """,
    "instance-norm": """
        y = x.to(torch.promote_types(x.dtype, torch.float32)).flatten(0, -2)
        weight, bias = self.norm.weight.to(y.dtype), self.norm.bias.to(y.dtype)
        scaled = F.instance_norm(y[None], eps=self.norm.eps)[0] if y.numel() else y
        return (scaled * weight + bias).view(x.shape).to(x.dtype)
    """,
    "columns-first": """
        y = x.flatten(0, -2).to(torch.promote_types(x.dtype, torch.float32)).t().contiguous()
        centred = y - y.mean(0)
        rstd = torch.rsqrt(centred.square().mean(0) + self.norm.eps)
        weight, bias = self.norm.weight.to(y.dtype)[:, None], self.norm.bias.to(y.dtype)[:, None]
        return (centred * (rstd * weight) + bias).t().reshape(x.shape).to(x.dtype)
    """,
}

LAYER_FUNCTION = """
    class LayerNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias, eps):
            y = x.to(torch.promote_types(x.dtype, torch.float32))
            mean = y.mean(-1, keepdim=True)
            rstd = torch.rsqrt((y - mean).square().mean(-1, keepdim=True) + eps)
            ctx.save_for_backward({saved})
            return ((y - mean) * rstd * weight.to(y.dtype) + bias.to(y.dtype)).to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            {restored}
            g = grad.to(scaled.dtype).flatten(0, -2)
            scaled = scaled.flatten(0, -2)
            h = g * weight.to(g.dtype)
            size = g.shape[1]
            {formula}
            narrow = (part.to(weight.dtype) for part in ({sums}))
            return dx.to(grad.dtype).view(grad.shape), *narrow, None
"""
RECOMPUTE = """x, mean, rstd, weight = ctx.saved_tensors
            scaled = (x.to(mean.dtype) - mean) * rstd"""
LAYER_BACKWARDS = {
    "saved-normalized": (
        "(y - mean) * rstd, rstd, weight",
        "scaled, rstd, weight = ctx.saved_tensors",
        "dx = (h - h.mean(1, keepdim=True) - scaled * (h * scaled).mean(1, keepdim=True)) * rstd.flatten(0, -2)",
        "(g * scaled).sum(0), g.sum(0)",
    ),
    "recomputed": (
        "x, mean, rstd, weight",
        RECOMPUTE,
        "dx = (size * h - h.sum(1, keepdim=True) - scaled * (h * scaled).sum(1, keepdim=True)) * (rstd.flatten(0, -2) / size)",
        'torch.einsum("rc,rc->c", g, scaled), torch.ones(1, len(g), dtype=g.dtype, device=g.device).mm(g)[0]',
    ),
    "projection": (
        "x, mean, rstd, weight",
        RECOMPUTE,
        """basis = torch.stack((torch.ones_like(scaled), scaled), dim=2)
            dx = (h - (basis @ (basis.mT @ h[:, :, None]))[:, :, 0] / size) * rstd.flatten(0, -2)""",
        "(g * scaled).double().sum(0), g.double().sum(0)",
    ),
}

RMS_ROOTS = {
    "rsqrt": "scaled = y * torch.rsqrt(mean_square + self.norm.eps)\n",
    "divide": "scaled = y / torch.sqrt(mean_square + self.norm.eps)\n",
    "inverse": "scaled = y * (1.0 / torch.sqrt(mean_square + self.norm.eps))\n",
    "power": "scaled = y * torch.pow(mean_square + self.norm.eps, -0.5)\n",
    "exp2": "scaled = y * torch.exp2(-0.5 * torch.log2(mean_square + self.norm.eps))\n",
}
RMS_SQUARES = {
    "square": "mean_square = total(y * y) / y.shape[-1]\n",
    "scaled-terms": "mean_square = total(y * (y / y.shape[-1]))\n",
}
RMS_AFFINE = "return (scaled * self.norm.weight.to(y.dtype)).to(x.dtype)"
RMS_BODIES = {
    "library-float32": WIDE + "return F.rms_norm(y, y.shape[-1:], self.norm.weight.to(y.dtype), self.norm.eps).to(x.dtype)",
    "library-rows": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        weight = self.norm.weight.to(y.dtype)
        return torch.cat([F.rms_norm(part, part.shape[1:], weight, self.norm.eps) for part in y.split(4)]).to(x.dtype)
    """,
    "float64": """
        y = x.double()
        root = torch.sqrt(y.square().mean(-1, keepdim=True) + self.norm.eps)
        return (y / root * self.norm.weight.double()).to(x.dtype)
    """,
    "vector-norm": WIDE
    + """
length = torch.linalg.vector_norm(y, dim=-1, keepdim=True)
scaled = y / torch.sqrt(length * length / y.shape[-1] + self.norm.eps)
"""
    + RMS_AFFINE,
    "bmm-diagonal": WIDE
    + """
mean_square = torch.bmm(y[:, None, :], y[:, :, None])[:, 0] / y.shape[-1]
return (y * (torch.rsqrt(mean_square + self.norm.eps) * self.norm.weight.to(y.dtype))).to(x.dtype)
""",
    "einsum": WIDE
    + """
mean_square = torch.einsum("rc,rc->r", y, y)[:, None] / y.shape[-1]
"""
    + RMS_ROOTS["rsqrt"]
    + RMS_AFFINE,
    "matmul-ones": WIDE
    + """
size = y.shape[-1]
mean_square = (y * y) @ torch.full((size, 1), 1.0 / size, dtype=y.dtype, device=y.device)
"""
    + RMS_ROOTS["rsqrt"]
    + RMS_AFFINE,
    "columns-first": """
        y = x.to(torch.promote_types(x.dtype, torch.float32)).t().contiguous()
        scaled = y * torch.rsqrt(y.square().mean(0) + self.norm.eps)
        return (scaled * self.norm.weight.to(y.dtype)[:, None]).t().to(x.dtype)
    """,
    "weight-first": WIDE
    + """
weighted = y * self.norm.weight.to(y.dtype)
return (weighted / torch.sqrt(y.square().mean(-1, keepdim=True) + self.norm.eps)).to(x.dtype)
""",
}
RMS_FUNCTION = """
    class RMSNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, eps):
            y = x.to(torch.promote_types(x.dtype, torch.float32))
            rstd = torch.rsqrt(y.square().mean(-1, keepdim=True) + eps)
            ctx.save_for_backward(x, rstd, weight)
            return (y * rstd * weight.to(y.dtype)).to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            x, rstd, weight = ctx.saved_tensors
            g, y = grad.to(rstd.dtype), x.to(rstd.dtype)
            h = g * weight.to(g.dtype)
            {formula}
            return dx.to(x.dtype), {weights}.to(weight.dtype), None
"""
RMS_BACKWARDS = {
    "normalized": (
        "scaled = y * rstd\n            dx = rstd * (h - scaled * (h * scaled).mean(-1, keepdim=True))",
        "(g * scaled).sum(0)",
    ),
    "cubed": (
        "dx = rstd * h - y * (rstd.pow(3) * (h * y).mean(-1, keepdim=True))",
        'torch.einsum("rc,rc,r->c", g, y, rstd[:, 0])',
    ),
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    names = (
        "forward backward flipped pairwise neighbours kahan neumaier twosum float64 sorted ones blocked32 split4 strided8 tree32"
    )
    for name, order in orders(names).items():
        body = WIDE + WEIGHTS + MOMENTS["two-pass"] + ROOTS["rsqrt"] + AFFINES["plain"]
        yield LAYERNORM.torch(f"{name} two-pass rsqrt plain", body, order)
    for order_name, moments, root, affine in (
        ("library", "two-pass", "divide", "addcmul"),
        ("blocked16", "two-pass", "inverse", "plain"),
        ("blocked64", "two-pass", "power", "float64"),
        ("library", "two-pass", "newton", "plain"),
        ("library", "corrected", "rsqrt", "plain"),
        ("pairwise", "corrected", "divide", "plain"),
        ("library", "sample-mean", "rsqrt", "plain"),
        ("split2", "shifted-first", "rsqrt", "addcmul"),
        ("library", "one-pass-float64", "divide", "plain"),
        ("strided4", "scaled-terms", "rsqrt", "plain"),
        ("blocked128", "scaled-terms", "inverse", "addcmul"),
    ):
        order = LIBRARY if order_name == "library" else orders(order_name)[order_name]
        body = WIDE + WEIGHTS + MOMENTS[moments] + ROOTS[root] + AFFINES[affine]
        yield LAYERNORM.torch(f"{order_name} {moments} {root} {affine}", body, order)
    for block, root in ((16, "rsqrt"), (32, "divide"), (64, "rsqrt"), (128, "divide")):
        quotient = (
            "* torch.rsqrt(squares / count + self.norm.eps)"
            if root == "rsqrt"
            else "/ torch.sqrt(squares / count + self.norm.eps)"
        )
        yield LAYERNORM.torch(f"welford{block} {root}", WELFORD.format(block=block, root=quotient))
    yield LAYERNORM.torch("welford sequential", SEQUENTIAL)
    yield LAYERNORM.torch("welford tree", CHAN_TREE)
    for name, body in LAYER_BODIES.items():
        yield LAYERNORM.torch(name, body)
    for name, (saved, restored, formula, sums) in LAYER_BACKWARDS.items():
        text = LAYER_FUNCTION.format(saved=saved, restored=restored, formula=formula, sums=sums)
        call = "return LayerNorm.apply(x, self.norm.weight, self.norm.bias, self.norm.eps)"
        yield LAYERNORM.torch(f"function {name}", call, text)

    names = "forward backward flipped pairwise kahan neumaier float64 sorted blocked16 blocked64 split2 split8 strided4 strided32"
    for name, order in orders(names).items():
        yield RMSNORM.torch(f"{name} rsqrt", WIDE + RMS_SQUARES["square"] + RMS_ROOTS["rsqrt"] + RMS_AFFINE, order)
    for order_name, squares, root in (
        ("tree8", "square", "divide"),
        ("blocked128", "scaled-terms", "inverse"),
        ("twosum", "scaled-terms", "divide"),
        ("descending", "square", "power"),
        ("blocked32", "square", "exp2"),
    ):
        body = WIDE + RMS_SQUARES[squares] + RMS_ROOTS[root] + RMS_AFFINE
        yield RMSNORM.torch(f"{order_name} {squares} {root}", body, *orders(order_name).values())
    for name, body in RMS_BODIES.items():
        yield RMSNORM.torch(name, body)
    for name, (formula, weights) in RMS_BACKWARDS.items():
        call = "return RMSNorm.apply(x, self.norm.weight, self.norm.eps)"
        yield RMSNORM.torch(f"function {name}", call, RMS_FUNCTION.format(formula=formula, weights=weights))
