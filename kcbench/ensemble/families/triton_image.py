"""Triton kernels for convolution and max pooling: direct and implicit products, orders of terms and of maxima, two passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.families.convolution import CONV
from kcbench.ensemble.families.pooling import POOL
from kcbench.ensemble.variant import Variant

CONV_LAUNCH = """
    weight, bias, pad = self.conv.weight.contiguous(), self.conv.bias, self.conv.padding[0]
    y, (filters, channels, kernel, _) = x.contiguous(), weight.shape
    height, width = y.shape[2] + 2 * pad - kernel + 1, y.shape[3] + 2 * pad - kernel + 1
    out = torch.empty(len(y), filters, height, width, dtype=y.dtype, device=y.device)
    if out.numel():
        grid = (len(y), triton.cdiv(filters, BO), triton.cdiv(height * width, BP))
        sizes = (channels, filters, y.shape[2], y.shape[3], height, width, pad)
        conv_kernel[grid](y, weight, bias, out, *sizes, KERNEL=kernel, BO=BO, BP=BP, BC=BC)
    return out
"""
CONV_KERNEL = """
    @triton.jit
    def conv_kernel(
        x_ptr, weight_ptr, bias_ptr, out_ptr, channels, filters, rows, columns, height, width, pad,
        KERNEL: tl.constexpr, BO: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr,
    ):
        image = tl.program_id(0).to(tl.int64)
        o = tl.program_id(1) * BO + tl.arange(0, BO)[:, None]
        place = tl.program_id(2) * BP + tl.arange(0, BP)[None, :]
        h, w = place // width, place % width
        bias = tl.load(bias_ptr + o, mask=o < filters, other=0.0).to(tl.float32)
        total = tl.full((BO, BP), 0.0, tl.float32){start}
        {loops}
        out_place = out_ptr + (image * filters + o) * height * width + place
        tl.store(out_place, total{end}, mask=(o < filters) & (place < height * width))
"""
INSIDE = "inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns) & (place < height * width)"
CONV_LOOPS = {
    "direct": f"""
        for c in range(0, channels):
            for i in range(KERNEL):
                for j in range(KERNEL):
                    row, column = h + i - pad, w + j - pad
                    {INSIDE}
                    pixel = x_ptr + ((image * channels + c) * rows + row) * columns + column
                    weight = weight_ptr + ((o * channels + c) * KERNEL + i) * KERNEL + j
                    x = tl.load(pixel, mask=inside, other=0.0).to(tl.float32)
                    total += tl.load(weight, mask=o < filters, other=0.0).to(tl.float32) * x
    """,
    "shifted-dots": f"""
        c = tl.arange(0, BC)
        for i in range(KERNEL):
            for j in range(KERNEL):
                row, column = h + i - pad, w + j - pad
                {INSIDE}
                for start in range(0, channels, BC):
                    up, left = start + c[:, None], start + c[None, :]
                    pixel = x_ptr + ((image * channels + up) * rows + row) * columns + column
                    weight = weight_ptr + ((o * channels + left) * KERNEL + i) * KERNEL + j
                    x = tl.load(pixel, mask=inside & (up < channels), other=0.0).to(tl.float32)
                    filters_here = tl.load(weight, mask=(o < filters) & (left < channels), other=0.0).to(tl.float32)
                    total = tl.dot(filters_here, x, total, input_precision="ieee")
    """,
    "implicit-product": f"""
        inner = tl.arange(0, BC)
        depth = channels * KERNEL * KERNEL
        for start in range(0, depth, BC):
            up, left = start + inner[:, None], start + inner[None, :]
            row, column = h + up // KERNEL % KERNEL - pad, w + up % KERNEL - pad
            {INSIDE}
            x = tl.load(
                x_ptr + ((image * channels + up // (KERNEL * KERNEL)) * rows + row) * columns + column,
                mask=inside & (up < depth),
                other=0.0,
            ).to(tl.float32)
            weight = tl.load(weight_ptr + o * depth + left, mask=(o < filters) & (left < depth), other=0.0).to(tl.float32)
            total = tl.dot(weight, x, total, input_precision="ieee")
    """,
}

POOL_LAUNCH = """
    kernel, stride, pad = self.pool.kernel_size, self.pool.stride, self.pool.padding
    y = x.contiguous()
    height, width = ((size + 2 * pad - kernel) // stride + 1 for size in y.shape[2:])
    out = torch.empty(*y.shape[:2], height, width, dtype=y.dtype, device=y.device)
    if out.numel():
        grid = (y.shape[0] * y.shape[1], triton.cdiv(height * width, BLOCK))
        pool_kernel[grid](y, out, *y.shape[2:], height, width, stride, pad, KERNEL=kernel, BLOCK=BLOCK)
    return out
"""
POOL_KERNEL = """
    @triton.jit
    def pool_kernel(x_ptr, out_ptr, rows, columns, height, width, stride, pad, KERNEL: tl.constexpr, BLOCK: tl.constexpr):
        plane = tl.program_id(0).to(tl.int64)
        place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        top, left = place // width * stride - pad, place % width * stride - pad
        best = tl.full((BLOCK,), float("-inf"), tl.float32)
        for window in range({order}):
            row, column = top + {row}, left + {column}
            inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns) & (place < height * width)
            x = tl.load(x_ptr + (plane * rows + row) * columns + column, mask=inside, other=float("-inf")).to(tl.float32)
            best = {step}
        tl.store(out_ptr + plane * height * width + place, best, mask=place < height * width)
"""
FORWARD_ORDER = "KERNEL * KERNEL"
BACKWARD_ORDER = "KERNEL * KERNEL - 1, -1, -1"
MAXIMUM = "tl.maximum(best, x, propagate_nan=tl.PropagateNan.ALL)"
SELECT = "tl.where((x > best) | (x != x), x, best)"
NEGATED = "-tl.minimum(-x, -best, propagate_nan=tl.PropagateNan.ALL)"

SEPARABLE_KERNEL = """
    @triton.jit
    def line_kernel(x_ptr, out_ptr, lines, size, inner, outputs, stride, pad, KERNEL: tl.constexpr, BLOCK: tl.constexpr):
        # Maxima along the middle of three dimensions: lines, size, inner.
        index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = index < lines * outputs * inner
        line, place, lane = index // (outputs * inner), index // inner % outputs, index % inner
        best = tl.full((BLOCK,), float("-inf"), tl.float32)
        for step in range(KERNEL):
            at = place * stride + step - pad
            x = tl.load(x_ptr + (line * size + at) * inner + lane, mask=mask & (at >= 0) & (at < size), other=float("-inf"))
            best = tl.maximum(best, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
        tl.store(out_ptr + index, best, mask=mask)
"""
SEPARABLE_LAUNCH = """
    kernel, stride, pad = self.pool.kernel_size, self.pool.stride, self.pool.padding
    y = x.contiguous()
    height, width = ((size + 2 * pad - kernel) // stride + 1 for size in y.shape[2:])
    across = torch.empty(*y.shape[:3], width, dtype=y.dtype, device=y.device)
    out = torch.empty(*y.shape[:2], height, width, dtype=y.dtype, device=y.device)
    if out.numel():
        rows, columns = y.shape[2:]
        planes = y.shape[0] * y.shape[1]
        line_kernel[(triton.cdiv(across.numel(), 256),)](
            y, across, planes * rows, columns, 1, width, stride, pad, KERNEL=kernel, BLOCK=256
        )
        line_kernel[(triton.cdiv(out.numel(), 256),)](
            across, out, planes, rows, width, height, stride, pad, KERNEL=kernel, BLOCK=256
        )
    return out
"""


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for loops, bias, tile in (
        ("direct", "first", (8, 64, 1)),
        ("shifted-dots", "last", (16, 32, 16)),
        ("implicit-product", "last", (16, 32, 32)),
        ("implicit-product", "first", (16, 64, 16)),
    ):
        start, end = (" + bias", "") if bias == "first" else ("", " + bias")
        kernel = CONV_KERNEL.format(loops=CONV_LOOPS[loops].strip(), start=start, end=end)
        sizes = dict(zip(("BO", "BP", "BC"), tile, strict=True))
        yield CONV.triton(f"{loops} bias-{bias}", CONV_LAUNCH, kernel, constants=sizes)
    row, column = "window // KERNEL", "window % KERNEL"
    for name, order, rows, columns, step, block in (
        ("maximum rows-first", FORWARD_ORDER, row, column, MAXIMUM, 64),
        ("maximum columns-first", FORWARD_ORDER, column, row, MAXIMUM, 128),
        ("select backward", BACKWARD_ORDER, row, column, SELECT, 64),
        ("negated-minimum", FORWARD_ORDER, row, column, NEGATED, 32),
    ):
        kernel = POOL_KERNEL.format(order=order, row=rows, column=columns, step=step)
        yield POOL.triton(name, POOL_LAUNCH, kernel, constants={"BLOCK": block})
    yield POOL.triton("separable", SEPARABLE_LAUNCH, SEPARABLE_KERNEL)
