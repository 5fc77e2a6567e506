"""Triton kernels for matrix products, plain, batched and with bias and GELU: tiles, split sums, orders, accumulators."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.families.linear import LINEAR
from kcbench.ensemble.families.matmul import BATCHED, MATMUL
from kcbench.ensemble.variant import Variant

KERNEL = """
    @triton.jit
    def product_kernel(
        a_ptr, b_ptr, {bias}c_ptr, M, N, K, a_batch, a_row, a_inner, b_batch, b_inner, b_column,
        BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ):
        {place}
        batch = tl.program_id(1).to(tl.int64)
        rows = first_row + tl.arange(0, BM)[:, None]
        columns = first_column + tl.arange(0, BN)[None, :]
        inner = tl.arange(0, BK)
        a_base = a_ptr + batch * a_batch + rows * a_row
        b_base = b_ptr + batch * b_batch + columns * b_column
        {accumulate}
        {epilogue}
        tl.store(c_ptr + batch * M * N + rows * N + columns, total, mask=(rows < M) & (columns < N))
"""
PLACES = {
    "row-major": """
        tiles = tl.cdiv(N, BN)
        first_row, first_column = tl.program_id(0) // tiles * BM, tl.program_id(0) % tiles * BN
    """,
    "column-major": """
        tiles = tl.cdiv(M, BM)
        first_row, first_column = tl.program_id(0) % tiles * BM, tl.program_id(0) // tiles * BN
    """,
}
LOADS = """
            left, up = start + inner[None, :], start + inner[:, None]
            a = tl.load(a_base + left * a_inner, mask=(rows < M) & (left < K), other=0.0).to({wide})
            b = tl.load(b_base + up * b_inner, mask=(up < K) & (columns < N), other=0.0).to({wide})
""".strip("\n")
ACCUMULATIONS = {
    "dot": f"""
        total = tl.full((BM, BN), 0.0, tl.float32)
        for start in range(0, K, BK):
{LOADS.format(wide="tl.float32")}
            total = tl.dot(a, b, total, input_precision="ieee")
    """,
    "dot-backward": f"""
        total = tl.full((BM, BN), 0.0, tl.float32)
        for start in range((K - 1) // BK * BK, -1, -BK):
{LOADS.format(wide="tl.float32")}
            total = tl.dot(a, b, total, input_precision="ieee")
    """,
    "added": f"""
        total = tl.full((BM, BN), 0.0, tl.float32)
        for start in range(0, K, BK):
{LOADS.format(wide="tl.float32")}
            total += tl.dot(a, b, input_precision="ieee")
    """,
    "kahan": f"""
        total = tl.full((BM, BN), 0.0, tl.float32)
        carry = tl.full((BM, BN), 0.0, tl.float32)
        for start in range(0, K, BK):
{LOADS.format(wide="tl.float32")}
            term = tl.dot(a, b, input_precision="ieee") - carry
            new = total + term
            # The correction of an infinite sum is NaN, which must not get into the sum.
            carry = tl.where(tl.abs(new) < float("inf"), (new - total) - term, 0.0)
            total = new
    """,
    "multiply-and-sum": f"""
        total = tl.full((BM, BN), 0.0, tl.float32)
        for start in range(0, K, BK):
{LOADS.format(wide="tl.float32")}
            total += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
    """,
    "float64": f"""
        exact = tl.full((BM, BN), 0.0, tl.float64)
        for start in range(0, K, BK):
{LOADS.format(wide="tl.float64")}
            exact += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
        total = exact.to(tl.float32)
    """,
}
GELU = "total = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))"
EPILOGUES = {
    "bias-gelu": f"total += tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)\n        {GELU}",
    "gelu": GELU,
}

MATMUL_LAUNCH = """
    out = torch.empty(A.shape[0], B.shape[1], dtype=A.dtype, device=A.device)
    M, N, K = *out.shape, A.shape[1]
    if out.numel():
        grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN), 1)
        product_kernel[grid](A, B, out, M, N, K, 0, *A.stride(), 0, *B.stride(), BM=BM, BN=BN, BK=BK)
    return out
"""
BATCHED_LAUNCH = """
    out = torch.empty(*A.shape[:2], B.shape[2], dtype=A.dtype, device=A.device)
    M, N, K = *out.shape[1:], A.shape[2]
    if out.numel():
        grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN), len(A))
        product_kernel[grid](A, B, out, M, N, K, *A.stride(), *B.stride(), BM=BM, BN=BN, BK=BK)
    return out
"""
LINEAR_LAUNCH = """
    weight, bias = self.linear.weight{copy}, self.linear.bias
    out = torch.empty(len(x), len(weight), dtype=x.dtype, device=x.device)
    M, N, K = *out.shape, x.shape[1]
    if out.numel():
        grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN), 1)
        product_kernel[grid](x, weight, bias, out, M, N, K, 0, *x.stride(), 0, *weight.t().stride(), BM=BM, BN=BN, BK=BK)
    return out
"""

SPLIT_LAUNCH = """
    out = torch.empty(A.shape[0], B.shape[1], dtype=A.dtype, device=A.device)
    M, N, K = *out.shape, A.shape[1]
    if out.numel():
        # Every part is a batch entry of its own; the parts are added afterwards, in a fixed order.
        per_part = triton.cdiv(K, PARTS)
        a = torch.nn.functional.pad(A, (0, per_part * PARTS - K)).view(M, PARTS, per_part).transpose(0, 1)
        b = torch.nn.functional.pad(B, (0, 0, 0, per_part * PARTS - K)).view(PARTS, per_part, N)
        parts = torch.empty(PARTS, M, N, dtype=torch.float32, device=A.device)
        grid = (triton.cdiv(M, 32) * triton.cdiv(N, 32), PARTS)
        product_kernel[grid](a, b, parts, M, N, per_part, *a.stride(), *b.stride(), BM=32, BN=32, BK=32)
        out = parts.sum(0).to(A.dtype)
    return out
"""


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for accumulation, place, tile in (
        ("dot", "row-major", (16, 32, 16)),
        ("dot", "column-major", (32, 32, 64)),
        ("dot-backward", "row-major", (32, 64, 32)),
        ("added", "row-major", (64, 32, 32)),
        ("kahan", "column-major", (32, 32, 16)),
        ("multiply-and-sum", "row-major", (16, 16, 16)),
        ("float64", "row-major", (16, 16, 32)),
    ):
        yield MATMUL.triton(
            f"{accumulation} {place} tile{_tile(tile)}", MATMUL_LAUNCH, _kernel(accumulation, place), constants=_sizes(tile)
        )
    for parts in (2, 4):
        yield MATMUL.triton(f"split{parts}", SPLIT_LAUNCH, _kernel("dot", "row-major"), constants={"PARTS": parts})
    for accumulation, place, tile in (
        ("dot", "row-major", (32, 32, 32)),
        ("dot-backward", "column-major", (16, 32, 64)),
        ("added", "column-major", (32, 16, 16)),
        ("kahan", "row-major", (32, 32, 32)),
        ("multiply-and-sum", "column-major", (16, 32, 16)),
    ):
        yield BATCHED.triton(
            f"{accumulation} {place} tile{_tile(tile)}", BATCHED_LAUNCH, _kernel(accumulation, place), constants=_sizes(tile)
        )
    for accumulation, place, tile, copy in (
        ("dot", "row-major", (16, 32, 32), ""),
        ("dot", "column-major", (32, 32, 64), ".t().contiguous().t()"),
        ("dot-backward", "row-major", (32, 16, 16), ""),
        ("added", "row-major", (32, 32, 32), ""),
        ("multiply-and-sum", "row-major", (16, 16, 16), ""),
    ):
        kernel = _kernel(accumulation, place, bias="bias_ptr, ", epilogue=EPILOGUES["bias-gelu"])
        name = f"{accumulation} {place} tile{_tile(tile)}{' transposed-weight' if copy else ''}"
        yield LINEAR.triton(name, LINEAR_LAUNCH.format(copy=copy), kernel, constants=_sizes(tile))
    kernel = _kernel("dot", "row-major", bias="bias_ptr, ", epilogue=EPILOGUES["gelu"])
    start = "total = tl.load(bias_ptr + columns + 0 * rows, mask=columns < N + 0 * rows, other=0.0).to(tl.float32)"
    kernel = kernel.replace("total = tl.full((BM, BN), 0.0, tl.float32)", start)
    yield LINEAR.triton("bias-first tile32x32x32", LINEAR_LAUNCH.format(copy=""), kernel, constants=_sizes((32, 32, 32)))


def _kernel(accumulation: str, place: str, *, bias: str = "", epilogue: str = "") -> str:
    text = KERNEL.format(
        bias=bias, place=PLACES[place].strip(), accumulate=ACCUMULATIONS[accumulation].strip(), epilogue=epilogue
    )
    return text if epilogue else text.replace("        \n", "")


def _tile(tile: tuple[int, int, int]) -> str:
    return "x".join(str(size) for size in tile)


def _sizes(tile: tuple[int, int, int]) -> dict[str, object]:
    return dict(zip(("BM", "BN", "BK"), tile, strict=True))
