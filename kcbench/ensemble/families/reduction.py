"""Sums over an axis: orders of summation, library calls that add, layouts, handwritten backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.sums import SUMS
from kcbench.ensemble.variant import Variant

SUM = Form(
    "level1/sum_axis",
    "x: torch.Tensor",
    """
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis
    """,
)
ORDERED = """
    y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, -1)
    return total(y).movedim(-1, self.axis).to(x.dtype, copy=True)
"""
COPIED = """
    y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, -1).contiguous()
    return total(y).movedim(-1, self.axis).contiguous().to(x.dtype)
"""

BODIES = {
    "library-float64": "return x.sum(self.axis, keepdim=True, dtype=torch.float64).to(x.dtype)",
    "library-float32": "return x.sum(self.axis, keepdim=True, dtype=torch.float32).to(x.dtype, copy=True)",
    "contiguous-last": """
        y = x.movedim(self.axis, -1).contiguous()
        return y.sum(-1, dtype=torch.float32).unsqueeze(self.axis).to(x.dtype)
    """,
    "unbind-add": """
        rows = x.to(torch.promote_types(x.dtype, torch.float32)).unbind(self.axis)
        out = rows[0].clone()
        for row in rows[1:]:
            out = torch.add(out, row)
        return out.unsqueeze(self.axis).to(x.dtype)
    """,
    "einsum": """
        y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, -1)
        ones = torch.ones(y.shape[-1], dtype=y.dtype, device=y.device)
        return torch.einsum("...i,i->...", y, ones).unsqueeze(self.axis).to(x.dtype)
    """,
    "baddbmm": """
        y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, 1)
        if y.numel() == 0:
            return torch.sum(x, dim=self.axis, keepdim=True)
        flat = y.flatten(2)
        ones = torch.ones(len(y), 1, y.shape[1], dtype=y.dtype, device=y.device)
        out = torch.baddbmm(flat.new_zeros(len(y), 1, flat.shape[2]), ones, flat)
        return out.view(len(y), 1, *y.shape[2:]).movedim(1, self.axis).to(x.dtype)
    """,
    "index-add": """
        y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, 0)
        slot = torch.zeros(len(y), dtype=torch.long, device=y.device)
        return torch.zeros_like(y[:1]).index_add(0, slot, y).movedim(0, self.axis).to(x.dtype)
    """,
    "convolution": """
        y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, -1)
        ones = torch.ones(1, 1, y.shape[-1], dtype=y.dtype, device=y.device)
        out = F.conv1d(y.reshape(-1, 1, y.shape[-1]), ones) if y.numel() else y[..., :1]
        return out.reshape(*y.shape[:-1], 1).movedim(-1, self.axis).to(x.dtype)
    """,
    "two-stage-tiles": """
        y = x.to(torch.promote_types(x.dtype, torch.float32)).movedim(self.axis, -1)
        padded = F.pad(y, (0, -y.shape[-1] % 24))
        out = padded.unflatten(-1, (-1, 24)).sum(-2).sum(-1, keepdim=True)
        return out.movedim(-1, self.axis).to(x.dtype)
    """,
    "positive-and-negative": """
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        rest = torch.where(y > 0, torch.zeros_like(y), y)
        above = torch.where(y > 0, y, torch.zeros_like(y)).sum(self.axis, keepdim=True)
        return (above + rest.sum(self.axis, keepdim=True)).to(x.dtype)
    """,
    "rows2": "return torch.cat([part.float().sum(self.axis, keepdim=True) for part in x.split(2)]).to(x.dtype)",
    "columns8": """
        last = x.dim() - 1 if self.axis != x.dim() - 1 else 0
        parts = x.to(torch.promote_types(x.dtype, torch.float32)).split(8, dim=last)
        return torch.cat([part.sum(self.axis, keepdim=True) for part in parts], dim=last).to(x.dtype)
    """,
}

FUNCTION = """
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, axis):
            ctx.shape = x.shape
            y = x.to(torch.promote_types(x.dtype, torch.float32))
            parts = [{part} for piece in y.tensor_split(3, dim=axis)]
            return (parts[0] + (parts[1] + parts[2])).to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            return {backward}, None
"""
BACKWARDS = {
    "expand": ("piece.sum(axis, keepdim=True)", "grad.expand(ctx.shape)"),
    "broadcast": (
        "piece.double().sum(axis, keepdim=True)",
        "grad + torch.zeros(ctx.shape, dtype=grad.dtype, device=grad.device)",
    ),
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for name, order in SUMS.items():
        yield SUM.torch(name, ORDERED, order)
    for name in ("ones", "blocked16", "flipped"):
        yield SUM.torch(f"{name} contiguous", COPIED, SUMS[name])
    for name, body in BODIES.items():
        yield SUM.torch(name, body)
    for name, (part, backward) in BACKWARDS.items():
        yield SUM.torch(f"function {name}", "return Sum.apply(x, self.axis)", FUNCTION.format(part=part, backward=backward))
