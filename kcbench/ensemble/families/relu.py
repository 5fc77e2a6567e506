"""ReLU: comparisons, selections and copies that keep NaN, with autograd's and with handwritten backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.variant import Variant

RELU = Form("level1/relu", "x: torch.Tensor")

FORMULAS = {
    "maximum": "return torch.maximum(x, torch.zeros_like(x))",
    "clamp": "return x.clamp_min(0.0)",
    "select-negative": "return torch.where(x < 0, torch.zeros_like(x), x)",
    "select-positive": "return torch.where((x > 0) | x.isnan(), x, torch.zeros_like(x))",
    "masked-fill": "return x.masked_fill(x <= 0, 0.0)",
    "threshold": "return F.threshold(x, 0.0, 0.0)",
    "negated-minimum": "return -torch.minimum(-x, torch.zeros_like(x))",
    "stacked-amax": "return torch.stack((x, torch.zeros_like(x))).amax(0)",
    "stacked-max-index": "return torch.stack((torch.zeros_like(x), x), dim=-1).max(dim=-1).values",
    "fmax-restored": "return torch.where(x.isnan(), x, torch.fmax(x, torch.zeros_like(x)))",
    "hardtanh": "return F.hardtanh(x, 0.0, math.inf)",
    "elu": "return F.elu(x, alpha=0.0)",
    "float64": "return x.double().clamp_min(0.0).to(x.dtype)",
    "float32": "return torch.relu(x.float()).to(x.dtype, copy=True)",
    "copy-in-place": "return x.clone().relu_()",
    "transposed": "return torch.relu(x.t().contiguous()).t()",
    "rows3": "return torch.cat([torch.relu(rows) for rows in x.split(3)])",
    "columns64": "return torch.cat([torch.relu(columns) for columns in x.split(64, dim=1)], dim=1)",
    "scatter": """
        keep = ~(x <= 0)
        return torch.zeros_like(x).masked_scatter(keep, x[keep])
    """,
    "indexed": """
        flat = x.reshape(-1)
        kept = (~(flat <= 0)).nonzero().squeeze(1)
        return torch.zeros_like(flat).index_put((kept,), flat[kept]).view(x.shape)
    """,
    "halves": """
        half = x.shape[1] // 2
        left = x[:, :half].clamp_min(0.0)
        right = torch.maximum(x[:, half:], torch.zeros_like(x[:, half:]))
        return torch.cat((left, right), dim=1)
    """,
    "pooled-pairs": """
        pairs = torch.stack((x, torch.zeros_like(x)), dim=-1).flatten(1).unsqueeze(1)
        return F.max_pool1d(pairs, 2).squeeze(1) if x.numel() else torch.empty_like(x)
    """,
}

FUNCTIONS = {
    "saved-mask": """
        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                dead = x <= 0
                ctx.save_for_backward(dead)
                return x.masked_fill(dead, 0.0)

            @staticmethod
            def backward(ctx, grad):
                (dead,) = ctx.saved_tensors
                return grad.masked_fill(dead, 0.0)
    """,
    "saved-output": """
        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                out = torch.clamp_min(x, 0.0)
                ctx.save_for_backward(out)
                return out

            @staticmethod
            def backward(ctx, grad):
                (out,) = ctx.saved_tensors
                return torch.where(out > 0, grad, torch.zeros_like(grad))
    """,
    "sign-bit": """
        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                bits = x.view(torch.int32 if x.element_size() == 4 else torch.int16)
                # The sign bit alone would turn a negative NaN into zero.
                dead = (bits < 0) & ~x.isnan()
                ctx.save_for_backward(dead)
                return bits.masked_fill(dead, 0).view(x.dtype)

            @staticmethod
            def backward(ctx, grad):
                (dead,) = ctx.saved_tensors
                return grad * (~dead).to(grad.dtype)
    """,
    "flat-chunks": """
        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                out = torch.empty_like(x, memory_format=torch.contiguous_format)
                source, target = x.contiguous().view(-1), out.view(-1)
                for start in range(0, source.numel(), 1000):
                    torch.clamp(source[start : start + 1000], min=0.0, out=target[start : start + 1000])
                ctx.save_for_backward(x)
                return out

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return torch.ops.aten.threshold_backward(grad, x, 0.0)
    """,
}

KERNEL = """
    @triton.jit
    def relu_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
        offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0)
        tl.store(out_ptr + offsets, {formula}, mask=offsets < count)
"""
KERNEL_FORMULAS = {
    "select": "tl.where(x < 0, 0.0, x)",
    "keep-nan": "tl.where((x > 0) | (x != x), x, 0.0)",
    "maximum": "tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)",
    "negated-minimum": "-tl.minimum(-x, 0.0, propagate_nan=tl.PropagateNan.ALL)",
}
LAUNCH = """
    y = x.contiguous()
    out = torch.empty_like(y)
    if y.numel():
        relu_kernel[(triton.cdiv(y.numel(), BLOCK),)](y, out, y.numel(), BLOCK=BLOCK)
    return out
"""

STRIDED_KERNEL = """
    @triton.jit
    def relu_kernel(x_ptr, out_ptr, columns, row_stride, column_stride, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        lanes = tl.arange(0, BLOCK)
        for start in range(0, columns, BLOCK):
            offsets = start + lanes
            x = tl.load(x_ptr + row * row_stride + offsets * column_stride, mask=offsets < columns, other=0.0)
            tl.store(out_ptr + row * columns + offsets, tl.where(x < 0, 0.0, x), mask=offsets < columns)
"""
STRIDED_LAUNCH = """
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel():
        relu_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)
    return out
"""

DIFFERENTIABLE = """
    @triton.jit
    def relu_kernel(x_ptr, gate_ptr, out_ptr, count, BLOCK: tl.constexpr):
        offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0)
        gate = tl.load(gate_ptr + offsets, mask=offsets < count, other=0.0)
        tl.store(out_ptr + offsets, tl.where(gate <= 0, 0.0, x), mask=offsets < count)


    def gated(x, gate):
        out = torch.empty_like(x)
        if x.numel():
            relu_kernel[(triton.cdiv(x.numel(), 256),)](x, gate, out, x.numel(), BLOCK=256)
        return out


    class Relu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.contiguous()
            ctx.save_for_backward(y)
            return gated(y, y)

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return gated(grad.contiguous(), y)
"""


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for name, body in FORMULAS.items():
        yield RELU.torch(name, body)
    for name, function in FUNCTIONS.items():
        yield RELU.torch(f"function {name}", "return Relu.apply(x)", function)
    for name, formula in KERNEL_FORMULAS.items():
        for block in (128, 1024):
            yield RELU.triton(f"{name} block{block}", LAUNCH, KERNEL.format(formula=formula), constants={"BLOCK": block})
    yield RELU.triton("rows strided", STRIDED_LAUNCH, STRIDED_KERNEL)
    yield RELU.triton("function gated", "return Relu.apply(x)", DIFFERENTIABLE)
