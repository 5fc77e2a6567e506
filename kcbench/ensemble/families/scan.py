"""Running sums: sequential, blocked, doubling and tree scans, products with triangles, compensated carries, backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.variant import Variant

CUMSUM = Form(
    "level1/cumsum",
    "x: torch.Tensor",
    """
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis
    """,
)
BODY = """
    y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, -1)
    if y.numel() == 0:
        return torch.empty_like(x)
    return scan(y).movedim(-1, self.axis).to(x.dtype, copy=True)
"""

SCANS = {
    "sequential": """
        def scan(y):
            out, columns = torch.zeros_like(y[..., 0]), []
            for column in y.unbind(-1):
                out = out + column
                columns.append(out)
            return torch.stack(columns, dim=-1)
    """,
    "kahan": """
        def scan(y):
            out = torch.zeros_like(y[..., 0])
            carry, columns = torch.zeros_like(out), []
            for column in y.unbind(-1):
                term = column - carry
                new = out + term
                # The correction of an infinite sum is NaN, which must not get into the sum.
                carry = torch.where(new.isfinite(), (new - out) - term, torch.zeros_like(new)).detach()
                out = new
                columns.append(out)
            return torch.stack(columns, dim=-1)
    """,
    "neumaier": """
        def scan(y):
            out = torch.zeros_like(y[..., 0])
            lost, columns = torch.zeros_like(out), []
            for column in y.unbind(-1):
                new = out + column
                error = torch.where(out.abs() >= column.abs(), (out - new) + column, (column - new) + out)
                lost = lost + torch.where(new.isfinite(), error, torch.zeros_like(error)).detach()
                out = new
                columns.append(out + lost)
            return torch.stack(columns, dim=-1)
    """,
    "doubling": """
        def scan(y):
            step = 1
            while step < y.shape[-1]:
                y = torch.cat((y[..., :step], y[..., step:] + y[..., :-step]), dim=-1)
                step *= 2
            return y
    """,
    "doubling4": """
        def scan(y):
            step = 1
            while step < y.shape[-1]:
                shifted = [F.pad(y, (k * step, 0))[..., : y.shape[-1]] for k in range(4)]
                y = (shifted[0] + shifted[1]) + (shifted[2] + shifted[3])
                step *= 4
            return y
    """,
    "tree": """
        def scan(y):
            if y.shape[-1] == 1:
                return y
            even = y.shape[-1] // 2 * 2
            odd_places = scan(y[..., 0:even:2] + y[..., 1:even:2])
            # Every even place but the first is the sum up to the odd place before it and its own element.
            later = odd_places[..., : (y.shape[-1] - 1) // 2] + y[..., 2::2]
            even_places = torch.cat((y[..., :1], later), dim=-1)
            out = torch.stack((even_places[..., : even // 2], odd_places), dim=-1).flatten(-2)
            return torch.cat((out, even_places[..., even // 2 :]), dim=-1)
    """,
    "halves": """
        def scan(y):
            if y.shape[-1] <= 8:
                return y.cumsum(-1)
            left, right = y.tensor_split(2, dim=-1)
            left = scan(left)
            return torch.cat((left, scan(right) + left[..., -1:]), dim=-1)
    """,
    "float64": """
        def scan(y):
            return y.double().cumsum(-1)
    """,
    "float64-carry": """
        def scan(y):
            carry, parts = torch.zeros_like(y[..., :1], dtype=torch.float64), []
            for block in y.split(32, dim=-1):
                parts.append((carry + block.cumsum(-1)).to(y.dtype))
                carry = carry + block.sum(-1, keepdim=True)
            return torch.cat(parts, dim=-1)
    """,
    "rows": """
        def scan(y):
            return y.movedim(-1, 0).contiguous().cumsum(0).movedim(0, -1)
    """,
    "strided-lanes": """
        def scan(y):
            # Lanes of every fourth element are scanned apart; each place adds the lanes' latest values.
            places = torch.arange(y.shape[-1], device=y.device)
            out = torch.zeros_like(y)
            for lane in range(min(4, y.shape[-1])):
                sums = F.pad(y[..., lane::4].cumsum(-1), (1, 0))
                out = out + sums[..., (places - lane).div(4, rounding_mode="floor") + 1]
            return out
    """,
    "convolution": """
        def scan(y):
            size = y.shape[-1]
            ones = torch.ones(1, 1, size, dtype=y.dtype, device=y.device)
            return F.conv1d(F.pad(y.reshape(-1, 1, size), (size - 1, 0)), ones).view(y.shape)
    """,
    "masked-sums": """
        def scan(y):
            size = y.shape[-1]
            places = torch.arange(size, device=y.device)
            columns = [y.masked_fill(places > last, 0.0).sum(-1) for last in range(size)]
            return torch.stack(columns, dim=-1)
    """,
    "prefix-slices": """
        def scan(y):
            return torch.stack([y[..., : last + 1].sum(-1) for last in range(y.shape[-1])], dim=-1)
    """,
}
BLOCKED = """
    def scan(y):
        carry, parts = torch.zeros_like(y[..., :1]), []
        for block in y.split({size}, dim=-1):
            parts.append(block.cumsum(-1) + carry)
            carry = parts[-1][..., -1:]
        return torch.cat(parts, dim=-1)
"""
TWO_LEVEL = """
    def scan(y):
        size = y.shape[-1]
        blocks = F.pad(y, (0, -size % {size})).unflatten(-1, (-1, {size}))
        inner = blocks.cumsum(-1)
        totals = {totals}
        before = F.pad(totals.cumsum(-1)[..., :-1], (1, 0))
        return (inner + before[..., None]).flatten(-2)[..., :size]
"""
TRIANGLE = """
    def scan(y):
        triangle = torch.ones({size}, {size}, dtype=y.dtype, device=y.device).{part}()
        carry, parts = torch.zeros_like(y[..., :1]), []
        for block in y.split({size}, dim=-1):
            width = block.shape[-1]
            parts.append({product} + carry)
            carry = parts[-1][..., -1:]
        return torch.cat(parts, dim=-1)
"""
LINEAR_TRIANGLE = "F.linear(block, triangle[:width, :width])"
PLAIN_TRIANGLE = "block @ triangle[:width, :width]"

FUNCTION = """
    class Cumsum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, axis):
            ctx.axis = axis
            return x.to(torch.promote_types(x.dtype, torch.float32)).cumsum(axis).to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            g = grad.to(torch.promote_types(grad.dtype, torch.float32))
            return ({formula}).to(grad.dtype), None
"""
BACKWARDS = {
    "flip": "g.flip(ctx.axis).cumsum(ctx.axis).flip(ctx.axis)",
    "triangle": "(g.movedim(ctx.axis, -1) @ torch.ones(g.shape[ctx.axis], g.shape[ctx.axis]).tril().to(g)).movedim(-1, ctx.axis)",
    "complement": "(g.double() + g.double().sum(ctx.axis, keepdim=True) - g.double().cumsum(ctx.axis)).to(g.dtype)",
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for name, helper in SCANS.items():
        yield CUMSUM.torch(name, BODY, helper)
    for size in (8, 16, 32, 64, 128):
        yield CUMSUM.torch(f"blocked{size}", BODY, BLOCKED.format(size=size))
    for size, totals in ((16, "inner[..., -1]"), (64, "inner[..., -1]"), (32, "blocks.sum(-1)")):
        kind = "last" if "inner" in totals else "summed"
        yield CUMSUM.torch(f"two-level{size} {kind}", BODY, TWO_LEVEL.format(size=size, totals=totals))
    for size in (16, 64):
        yield CUMSUM.torch(f"triangle{size}", BODY, TRIANGLE.format(size=size, part="triu", product=PLAIN_TRIANGLE))
    yield CUMSUM.torch("triangle32 linear", BODY, TRIANGLE.format(size=32, part="tril", product=LINEAR_TRIANGLE))
    for name, formula in BACKWARDS.items():
        yield CUMSUM.torch(f"function {name}", "return Cumsum.apply(x, self.axis)", FUNCTION.format(formula=formula))
