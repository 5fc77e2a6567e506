"""Matrix products, plain and batched: orders over the inner dimension, tiles, library calls, layouts, backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.sums import orders
from kcbench.ensemble.variant import Variant

MATMUL = Form("level1/matmul", "A: torch.Tensor, B: torch.Tensor")
BATCHED = Form("level1/batched_matmul", "A: torch.Tensor, B: torch.Tensor")
WIDE = """
work = torch.promote_types(A.dtype, torch.float32)
a, b = A.to(work), B.to(work)
"""
CALL = WIDE + "return multiply(a, b).to(A.dtype)"

# Products over the last two dimensions: they serve the plain and the batched task.
PRODUCTS = {
    "blocked": """
        def multiply(a, b):
            out = a.new_zeros(*a.shape[:-1], b.shape[-1])
            for start in range(0, a.shape[-1], {size}):
                out = out + a[..., start : start + {size}] @ b[..., start : start + {size}, :]
            return out
    """,
    "blocked-backward": """
        def multiply(a, b):
            out = a.new_zeros(*a.shape[:-1], b.shape[-1])
            for start in reversed(range(0, a.shape[-1], {size})):
                out = out + a[..., start : start + {size}] @ b[..., start : start + {size}, :]
            return out
    """,
    "split": """
        def multiply(a, b):
            pieces = zip(a.chunk({size}, dim=-1), b.chunk({size}, dim=-2))
            return torch.stack([left @ right for left, right in pieces]).sum(0)
    """,
    "strided": """
        def multiply(a, b):
            lanes = min({size}, a.shape[-1])
            return sum(a[..., lane::{size}] @ b[..., lane::{size}, :] for lane in range(lanes))
    """,
    "kahan": """
        def multiply(a, b):
            out = a.new_zeros(*a.shape[:-1], b.shape[-1])
            carry = torch.zeros_like(out)
            for left, right in zip(a.split({size}, dim=-1), b.split({size}, dim=-2)):
                term = left @ right - carry
                new = out + term
                # The correction of an infinite sum is NaN, which must not get into the sum.
                carry = torch.where(new.isfinite(), (new - out) - term, torch.zeros_like(new)).detach()
                out = new
            return out
    """,
    "tree": """
        def multiply(a, b):
            if a.shape[-1] <= {size}:
                return a @ b
            half = a.shape[-1] // 2
            return multiply(a[..., :half], b[..., :half, :]) + multiply(a[..., half:], b[..., half:, :])
    """,
    "rows": """
        def multiply(a, b):
            return torch.cat([rows @ b for rows in a.split({size}, dim=-2)], dim=-2)
    """,
    "columns": """
        def multiply(a, b):
            return torch.cat([a @ columns for columns in b.split({size}, dim=-1)], dim=-1)
    """,
}
SINGLE = {
    "outer-products": """
        def multiply(a, b):
            out = a.new_zeros(*a.shape[:-1], b.shape[-1])
            for k in range(a.shape[-1]):
                out = out + a[..., k, None] * b[..., k, None, :]
            return out
    """,
    "outer-addcmul": """
        def multiply(a, b):
            out = a.new_zeros(*a.shape[:-1], b.shape[-1])
            for k in reversed(range(a.shape[-1])):
                out = torch.addcmul(out, a[..., k, None], b[..., k, None, :])
            return out
    """,
    "neumaier": """
        def multiply(a, b):
            out = a.new_zeros(*a.shape[:-1], b.shape[-1])
            lost = torch.zeros_like(out)
            for k in range(a.shape[-1]):
                term = a[..., k, None] * b[..., k, None, :]
                new = out + term
                error = torch.where(out.abs() >= term.abs(), (out - new) + term, (term - new) + out)
                lost = lost + torch.where(new.isfinite(), error, torch.zeros_like(error)).detach()
                out = new
            return out + lost
    """,
    "float64": """
        def multiply(a, b):
            return a.double() @ b.double()
    """,
    "float64-blocks": """
        def multiply(a, b):
            pieces = zip(a.split(32, dim=-1), b.split(32, dim=-2))
            return torch.stack([(left @ right).double() for left, right in pieces]).sum(0)
    """,
    "transposed": """
        def multiply(a, b):
            return (b.mT @ a.mT).mT
    """,
    "copied-transposes": """
        def multiply(a, b):
            return a.mT.contiguous().mT @ b.mT.contiguous().mT
    """,
    "linear-rows": """
        def multiply(a, b):
            return (a[..., None, :] @ b[..., None, :, :]).squeeze(-2)
    """,
    "flipped-inner": """
        def multiply(a, b):
            return a.flip(-1) @ b.flip(-2)
    """,
    "sorted-inner": """
        def multiply(a, b):
            # One order for all of a batch: by the sum of sizes in each row of b.
            order = b.detach().abs().sum(-1).reshape(-1, b.shape[-2]).sum(0).argsort()
            return a[..., order] @ b[..., order, :]
    """,
    "padded": """
        def multiply(a, b):
            # Whole tiles of 32 along the inner dimension: the zeros that are added meet zeros.
            short = -a.shape[-1] % 32
            return F.pad(a, (0, short)) @ F.pad(b, (0, 0, 0, short))
    """,
}
MULTIPLY_AND_SUM = """
    def multiply(a, b):
        return total(a[..., None, :] * b.mT[..., None, :, :]).squeeze(-1)
"""

MATMUL_BODIES = {
    "mm": WIDE + "return torch.mm(a, b).to(A.dtype)",
    "addmm": WIDE + "return torch.addmm(a.new_zeros(len(a), b.shape[1]), a, b).to(A.dtype)",
    "einsum": WIDE + 'return torch.einsum("mk,kn->mn", a, b).to(A.dtype)',
    "linear": WIDE + "return F.linear(a, b.t()).to(A.dtype)",
    "tensordot": WIDE + "return torch.tensordot(a, b, dims=([1], [0])).to(A.dtype)",
    "bmm-one": WIDE + "return torch.bmm(a[None], b[None])[0].to(A.dtype)",
    "mv-columns": WIDE + "return torch.stack([torch.mv(a, column) for column in b.unbind(1)], dim=1).to(A.dtype)",
    "convolution": WIDE + "return F.conv1d(a[:, :, None], b.t()[:, :, None])[:, :, 0].to(A.dtype)",
    "tiles": """
        work = torch.promote_types(A.dtype, torch.float32)
        out = []
        for rows in A.to(work).split(16):
            line = []
            for columns in B.to(work).split(24, dim=1):
                tile = rows.new_zeros(len(rows), columns.shape[1])
                for left, right in zip(rows.split(32, dim=1), columns.split(32)):
                    tile = torch.addmm(tile, left, right)
                line.append(tile)
            out.append(torch.cat(line, dim=1))
        return torch.cat(out).to(A.dtype)
    """,
}
BATCHED_BODIES = {
    "einsum": WIDE + 'return torch.einsum("bmk,bkn->bmn", a, b).to(A.dtype)',
    "einsum-permuted": WIDE + 'return torch.einsum("kbn,kbm->bmn", b.transpose(0, 1), a.permute(2, 0, 1)).to(A.dtype)',
    "loop": WIDE + "return (torch.stack([x @ y for x, y in zip(a, b)]) if len(a) else torch.bmm(a, b)).to(A.dtype)",
    "matmul-heads": WIDE + "return torch.matmul(a[:, None], b[:, None])[:, 0].to(A.dtype)",
    "baddbmm": """
        work = torch.promote_types(A.dtype, torch.float32)
        out = A.new_zeros(len(A), A.shape[1], B.shape[2], dtype=work)
        for left, right in zip(A.to(work).split(40, dim=2), B.to(work).split(40, dim=1)):
            out = torch.baddbmm(out, left, right)
        return out.to(A.dtype)
    """,
    "grouped-convolution": """
        work = torch.promote_types(A.dtype, torch.float32)
        batch, rows, inner = A.shape
        if batch == 0:
            return torch.bmm(A, B)
        signal = B.to(work).reshape(1, batch * inner, B.shape[2])
        out = F.conv1d(signal, A.to(work).reshape(batch * rows, inner, 1), groups=batch)
        return out.view(batch, rows, -1).to(A.dtype)
    """,
}

FUNCTION = """
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            work = torch.promote_types(a.dtype, torch.float32)
            return (a.to(work) @ b.to(work)).to(a.dtype)

        @staticmethod
        def backward(ctx, grad):
            a, b = (part.to(torch.promote_types(part.dtype, torch.float32)) for part in ctx.saved_tensors)
            g = grad.to(a.dtype)
            return ({left}).to(grad.dtype), ({right}).to(grad.dtype)
"""
BACKWARDS = {
    "matmul": ("g @ b.mT", "a.mT @ g"),
    "transposed": ("(b @ g.mT).mT", "(g.mT @ a).mT"),
    "blocked": (
        "sum(x @ y.mT for x, y in zip(g.split(16, dim=-1), b.split(16, dim=-1)))",
        "sum(x.mT @ y for x, y in zip(a.split(8, dim=-2), g.split(8, dim=-2)))",
    ),
    "float64": ("g.double() @ b.double().mT", "a.double().mT @ g.double()"),
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for form, sizes, sums in (
        (
            MATMUL,
            {
                "blocked": (16, 32, 64, 128),
                "blocked-backward": (24,),
                "split": (2, 4, 8),
                "strided": (2, 8),
                "kahan": (16,),
                "tree": (8, 40),
                "rows": (8,),
                "columns": (16,),
            },
            "pairwise forward sorted",
        ),
        (
            BATCHED,
            {
                "blocked": (16, 64),
                "blocked-backward": (32,),
                "split": (2, 8),
                "strided": (4,),
                "kahan": (8,),
                "tree": (16,),
                "rows": (6,),
                "columns": (10,),
            },
            "neighbours backward",
        ),
    ):
        for name, chosen in sizes.items():
            for size in chosen:
                yield form.torch(f"{name}{size}", CALL, PRODUCTS[name].replace("{size}", str(size)))
        for name, helper in SINGLE.items():
            yield form.torch(name, CALL, helper)
        for name, order in orders(sums).items():
            yield form.torch(f"multiply-and-sum {name}", CALL, order, MULTIPLY_AND_SUM)
        for name, body in (MATMUL_BODIES if form is MATMUL else BATCHED_BODIES).items():
            yield form.torch(name, body)
        for name, (left, right) in BACKWARDS.items():
            yield form.torch(f"function {name}", "return Product.apply(A, B)", FUNCTION.format(left=left, right=right))
