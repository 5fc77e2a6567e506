"""Triton kernels for sums over an axis and running sums: tiles, partial sums, compensated and wide accumulators, carries."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.families.reduction import SUM
from kcbench.ensemble.families.scan import CUMSUM
from kcbench.ensemble.variant import Variant

LAYERS = """
    y = x.movedim(self.axis, 1).contiguous()
    layers, length = y.shape[:2]
    width = y[0, 0].numel() if layers else 0
"""
LAUNCH = (
    LAYERS
    + """
    out = torch.empty(layers, 1, *y.shape[2:], dtype=y.dtype, device=y.device)
    if out.numel():
        sum_kernel[(layers, triton.cdiv(width, COLUMNS))](y, out, length, width, COLUMNS=COLUMNS, ROWS=ROWS)
    return out.movedim(1, self.axis)
"""
)
KERNEL = """
    @triton.jit
    def sum_kernel(x_ptr, out_ptr, length, width, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
        layer = tl.program_id(0).to(tl.int64)
        columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        base = x_ptr + layer * length * width
        {body}
        tl.store(out_ptr + layer * width + columns, total, mask=columns < width)
"""
BODIES = {
    "row-by-row": """
        total = tl.full((COLUMNS,), 0.0, tl.float32)
        for row in range(0, length):
            total += tl.load(base + row * width + columns, mask=columns < width, other=0.0).to(tl.float32)
    """,
    "backward": """
        total = tl.full((COLUMNS,), 0.0, tl.float32)
        for row in range(length - 1, -1, -1):
            total += tl.load(base + row * width + columns, mask=columns < width, other=0.0).to(tl.float32)
    """,
    "tiles": """
        total = tl.full((COLUMNS,), 0.0, tl.float32)
        rows = tl.arange(0, ROWS)[:, None]
        for start in range(0, length, ROWS):
            mask = (rows < length - start) & (columns[None, :] < width)
            tile = tl.load(base + (start + rows) * width + columns[None, :], mask=mask, other=0.0).to(tl.float32)
            total += tl.sum(tile, axis=0)
    """,
    "lanes": """
        sums = tl.full((ROWS, COLUMNS), 0.0, tl.float32)
        rows = tl.arange(0, ROWS)[:, None]
        for start in range(0, length, ROWS):
            mask = (rows < length - start) & (columns[None, :] < width)
            sums += tl.load(base + (start + rows) * width + columns[None, :], mask=mask, other=0.0).to(tl.float32)
        total = tl.sum(sums, axis=0)
    """,
    "float64": """
        sums = tl.full((ROWS, COLUMNS), 0.0, tl.float64)
        rows = tl.arange(0, ROWS)[:, None]
        for start in range(0, length, ROWS):
            mask = (rows < length - start) & (columns[None, :] < width)
            sums += tl.load(base + (start + rows) * width + columns[None, :], mask=mask, other=0.0).to(tl.float64)
        total = tl.sum(sums, axis=0).to(tl.float32)
    """,
    "kahan": """
        total = tl.full((COLUMNS,), 0.0, tl.float32)
        carry = tl.full((COLUMNS,), 0.0, tl.float32)
        for row in range(0, length):
            term = tl.load(base + row * width + columns, mask=columns < width, other=0.0).to(tl.float32) - carry
            new = total + term
            # The correction of an infinite sum is NaN, which must not get into the sum.
            carry = tl.where(tl.abs(new) < float("inf"), (new - total) - term, 0.0)
            total = new
    """,
    "alternating": """
        even = tl.full((COLUMNS,), 0.0, tl.float32)
        odd = tl.full((COLUMNS,), 0.0, tl.float32)
        for row in range(0, length, 2):
            even += tl.load(base + row * width + columns, mask=columns < width, other=0.0).to(tl.float32)
            mask = columns < tl.where(row + 1 < length, width, 0)
            odd += tl.load(base + (row + 1) * width + columns, mask=mask, other=0.0).to(tl.float32)
        total = even + odd
    """,
}
SPLIT_KERNELS = """
    @triton.jit
    def part_kernel(x_ptr, part_ptr, length, width, per_part, COLUMNS: tl.constexpr):
        layer = tl.program_id(0).to(tl.int64)
        part = tl.program_id(1)
        columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
        total = tl.full((COLUMNS,), 0.0, tl.float32)
        for row in range(part * per_part, tl.minimum((part + 1) * per_part, length)):
            total += tl.load(x_ptr + (layer * length + row) * width + columns, mask=columns < width, other=0.0).to(tl.float32)
        place = part_ptr + (layer * tl.num_programs(1) + part) * width + columns
        tl.store(place, total, mask=columns < width)


    @triton.jit
    def join_kernel(part_ptr, out_ptr, parts, width, COLUMNS: tl.constexpr):
        layer = tl.program_id(0).to(tl.int64)
        columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        total = tl.full((COLUMNS,), 0.0, tl.float32)
        for part in range(0, parts):
            total += tl.load(part_ptr + (layer * parts + part) * width + columns, mask=columns < width, other=0.0)
        tl.store(out_ptr + layer * width + columns, total, mask=columns < width)
"""
SPLIT_LAUNCH = (
    LAYERS
    + """
    out = torch.empty(layers, 1, *y.shape[2:], dtype=y.dtype, device=y.device)
    if out.numel():
        partial = torch.empty(layers, PARTS, width, dtype=torch.float32, device=y.device)
        blocks = triton.cdiv(width, 32)
        part_kernel[(layers, PARTS, blocks)](y, partial, length, width, triton.cdiv(length, PARTS), COLUMNS=32)
        join_kernel[(layers, blocks)](partial, out, PARTS, width, COLUMNS=32)
    return out.movedim(1, self.axis)
"""
)

SCAN_LAUNCH = """
    y = x.movedim(self.axis, -1).contiguous()
    out = torch.empty_like(y)
    if y.numel():
        size = y.shape[-1]
        scan_kernel[({grid},)](y, out, y.numel() // size, size, BLOCK={block})
    return out.movedim(-1, self.axis)
"""
SCAN_KERNELS = {
    "blocks": """
        @triton.jit
        def scan_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
            row = tl.program_id(0).to(tl.int64)
            lanes = tl.arange(0, BLOCK)
            carry = tl.full((), 0.0, tl.float32)
            for start in range(0, width, BLOCK):
                mask = lanes < width - start
                x = tl.load(x_ptr + row * width + start + lanes, mask=mask, other=0.0).to(tl.float32)
                tl.store(out_ptr + row * width + start + lanes, tl.cumsum(x, axis=0) + carry, mask=mask)
                carry += tl.sum(x, axis=0)
    """,
    "triangle": """
        @triton.jit
        def scan_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
            row = tl.program_id(0).to(tl.int64)
            lanes = tl.arange(0, BLOCK)
            carry = tl.full((), 0.0, tl.float32)
            for start in range(0, width, BLOCK):
                mask = lanes < width - start
                x = tl.load(x_ptr + row * width + start + lanes, mask=mask, other=0.0).to(tl.float32)
                below = tl.where(lanes[None, :] <= lanes[:, None], x[None, :], 0.0)
                tl.store(out_ptr + row * width + start + lanes, tl.sum(below, axis=1) + carry, mask=mask)
                carry += tl.sum(x, axis=0)
    """,
    "columns": """
        @triton.jit
        def scan_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
            lines = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
            total = tl.full((BLOCK,), 0.0, tl.float32)
            for column in range(0, width):
                total += tl.load(x_ptr + lines * width + column, mask=lines < rows, other=0.0).to(tl.float32)
                tl.store(out_ptr + lines * width + column, total, mask=lines < rows)
    """,
    "float64": """
        @triton.jit
        def scan_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
            row = tl.program_id(0).to(tl.int64)
            lanes = tl.arange(0, BLOCK)
            carry = tl.full((), 0.0, tl.float64)
            for start in range(0, width, BLOCK):
                mask = lanes < width - start
                x = tl.load(x_ptr + row * width + start + lanes, mask=mask, other=0.0).to(tl.float64)
                tl.store(out_ptr + row * width + start + lanes, (tl.cumsum(x, axis=0) + carry).to(tl.float32), mask=mask)
                carry += tl.sum(x, axis=0)
    """,
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for name, columns, rows in (
        ("row-by-row", 32, 1),
        ("backward", 16, 1),
        ("tiles", 32, 16),
        ("tiles", 16, 64),
        ("lanes", 32, 32),
        ("float64", 16, 16),
        ("kahan", 32, 1),
        ("alternating", 64, 1),
    ):
        sizes = {"COLUMNS": columns, "ROWS": rows}
        kernel = KERNEL.format(body=BODIES[name].strip())
        yield SUM.triton(f"{name} tile{columns}x{rows}", LAUNCH, kernel, constants=sizes)
    yield SUM.triton("split4", SPLIT_LAUNCH, SPLIT_KERNELS, constants={"PARTS": 4})
    for name, grid, block in (
        ("blocks", "y.numel() // size", "32"),
        ("blocks", "y.numel() // size", "triton.next_power_of_2(size)"),
        ("triangle", "y.numel() // size", "16"),
        ("columns", "triton.cdiv(y.numel() // size, 16)", "16"),
        ("float64", "y.numel() // size", "64"),
    ):
        kind = f"block{block}" if block.isdecimal() else "whole"
        yield CUMSUM.triton(f"{name} {kind}", SCAN_LAUNCH.format(grid=grid, block=block), SCAN_KERNELS[name])
