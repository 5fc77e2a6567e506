"""GELU in its exact form: formulas for the normal distribution function, with autograd's and with handwritten backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.variant import Variant

GELU = Form("level1/gelu", "x: torch.Tensor")
WIDE = "y = x.to(torch.promote_types(x.dtype, torch.float32))\n"

FORMULAS = {
    "erf": "0.5 * y * (1.0 + torch.erf(y * math.sqrt(0.5)))",
    "erf-divided": "y * ((1.0 + torch.erf(y / math.sqrt(2.0))) / 2.0)",
    "erf-expanded": "0.5 * (y + y * torch.erf(y * math.sqrt(0.5)))",
    "erf-addcmul": "torch.addcmul(0.5 * y, 0.5 * y, torch.erf(y * math.sqrt(0.5)))",
    "erfc": "0.5 * y * torch.erfc(-y * math.sqrt(0.5))",
    "erfc-divided": "y * (torch.erfc(y / -math.sqrt(2.0)) / 2.0)",
    "ndtr": "y * torch.special.ndtr(y)",
    "log-ndtr": "y * torch.exp(torch.special.log_ndtr(y))",
}

BODIES = {
    "float64-erf": "y = x.double()\nreturn (0.5 * y * (1.0 + torch.erf(y * math.sqrt(0.5)))).to(x.dtype)",
    "float64-erfc": "y = x.double()\nreturn (0.5 * y * torch.erfc(-y * math.sqrt(0.5))).to(x.dtype)",
    "float64-library": "return F.gelu(x.double()).to(x.dtype)",
    "library-rows5": "return torch.cat([F.gelu(rows) for rows in x.split(5)])",
    "library-transposed": "return F.gelu(x.t().contiguous()).t()",
    "in-place-chain": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        cdf = (y * math.sqrt(0.5)).erf_().add_(1.0).mul_(0.5)
        return (y * cdf).to(x.dtype)
    """,
    "complement": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        tail = 0.5 * torch.erfc(y.abs() * math.sqrt(0.5))
        return (y * torch.where(y < 0, tail, 1.0 - tail)).to(x.dtype)
    """,
    "columns48": """
        parts = []
        for columns in x.split(48, dim=1):
            y = columns.to(torch.promote_types(x.dtype, torch.float32))
            parts.append((0.5 * y * torch.erfc(-y * math.sqrt(0.5))).to(x.dtype))
        return torch.cat(parts, dim=1)
    """,
}

FORWARDS = {
    "erf": "cdf = 0.5 * (1.0 + torch.erf(y * math.sqrt(0.5)))",
    "erfc": "cdf = 0.5 * torch.erfc(-y * math.sqrt(0.5))",
    "erfcx": """
                tail = 0.5 * torch.exp(-0.5 * y * y) * torch.special.erfcx(y.abs() * math.sqrt(0.5))
                cdf = torch.where(y < 0, tail, 1.0 - tail)""",
    "gamma": """
                tail = 0.5 * torch.special.gammaincc(torch.full_like(y, 0.5).double(), 0.5 * y.double().square())
                cdf = torch.where(y < 0, tail, 1.0 - tail).to(y.dtype)""",
}
BACKWARDS = {
    "saved-cdf": (
        "ctx.save_for_backward(y, cdf)",
        "y, cdf = ctx.saved_tensors",
        "torch.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi)",
    ),
    "recomputed": (
        "ctx.save_for_backward(x)",
        """y = ctx.saved_tensors[0].to(torch.promote_types(grad.dtype, torch.float32))
                cdf = torch.special.ndtr(y)""",
        "torch.exp2(y * y * (-0.5 / math.log(2.0))) * (1.0 / math.sqrt(2.0 * math.pi))",
    ),
    "derivative": (
        "pdf = torch.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi)\n                ctx.save_for_backward(cdf + y * pdf)",
        "(slope,) = ctx.saved_tensors",
        "",
    ),
}
FUNCTION = """
        class Gelu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.to(torch.promote_types(x.dtype, torch.float32))
                {cdf}
                {save}
                return (y * cdf).to(x.dtype)

            @staticmethod
            def backward(ctx, grad):
                {restore}
                return (grad.to(slope.dtype) * slope).to(grad.dtype)
"""

KERNEL = """
    @triton.jit
    def gelu_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
        offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0).to(tl.float32)
        {formula}
        tl.store(out_ptr + offsets, y, mask=offsets < count)
"""
KERNEL_FORMULAS = {
    "erf": "y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))",
    "erf-expanded": "half = 0.5 * x\n        y = half + half * tl.erf(x * 0.7071067811865476)",
    "erf-divided": "y = x * (1.0 + tl.erf(x / 1.4142135623730951)) / 2.0",
    "float64": "wide = x.to(tl.float64)\n        y = (0.5 * wide * (1.0 + tl.erf(wide * 0.7071067811865476))).to(tl.float32)",
}
LAUNCH = """
    y = x.contiguous()
    out = torch.empty_like(y)
    if y.numel():
        gelu_kernel[(triton.cdiv(y.numel(), BLOCK),)](y, out, y.numel(), BLOCK=BLOCK)
    return out
"""


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for name, formula in FORMULAS.items():
        yield GELU.torch(name, f"{WIDE}return ({formula}).to(x.dtype)")
    for name, body in BODIES.items():
        yield GELU.torch(name, body)
    for cdf, forward in FORWARDS.items():
        for saved, (save, restore, pdf) in BACKWARDS.items():
            slope = f"{restore}\n                slope = cdf + y * ({pdf})" if pdf else restore
            text = FUNCTION.format(cdf=forward.strip(), save=save, restore=slope)
            yield GELU.torch(f"function {cdf} {saved}", "return Gelu.apply(x)", text)
    for name, formula in KERNEL_FORMULAS.items():
        for block in (256, 1024) if name == "erf" else (512,):
            yield GELU.triton(f"{name} block{block}", LAUNCH, KERNEL.format(formula=formula), constants={"BLOCK": block})
