"""Triton kernels over rows: softmax, logarithms of sums of exponentials, cross entropy and the norms.

One program has a row, whole or block by block; sums are kept per lane or per block, forward or backward, in float32 or float64.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.families.logsumexp import CROSS_ENTROPY, LOGSUMEXP
from kcbench.ensemble.families.norms import LAYERNORM, RMSNORM
from kcbench.ensemble.families.softmax import SOFTMAX
from kcbench.ensemble.variant import Variant

WHOLE = "whole"
"""In place of a block size: the least power of two that holds a row."""

ROW = """
        row = tl.program_id(0).to(tl.int64)
        lanes = tl.arange(0, BLOCK)
""".strip("\n")
BLOCKS = "for start in range(0, width, BLOCK):"
BACKWARD = "for start in range((width - 1) // BLOCK * BLOCK, -1, -BLOCK):"
LOAD = """mask = lanes < width - start
            x = tl.load(x_ptr + row * width + start + lanes, mask=mask, other=float("-inf")).to(tl.float32)"""

# Each leaves the row's maximum in ``top`` and the sum of exp(x - shift) in ``total``.
EXPONENTIAL_SUMS = {
    "lanes": """
        peak = tl.full((BLOCK,), float("-inf"), tl.float32)
        {loop}
            {load}
            peak = tl.maximum(peak, x)
        top = tl.max(peak, axis=0)
        {shift}
        sums = tl.full((BLOCK,), 0.0, tl.float32)
        {loop}
            {load}
            sums += tl.exp(x - shift)
        total = tl.sum(sums, axis=0)
    """,
    "blocks": """
        top = tl.full((), float("-inf"), tl.float32)
        {loop}
            {load}
            top = tl.maximum(top, tl.max(x, axis=0))
        {shift}
        total = tl.full((), 0.0, tl.float32)
        {loop}
            {load}
            total += tl.sum(tl.exp2((x - shift) * 1.4426950408889634), axis=0)
    """,
    "float64": """
        top = tl.full((), float("-inf"), tl.float32)
        {loop}
            {load}
            top = tl.maximum(top, tl.max(x, axis=0))
        {shift}
        wide = tl.full((), 0.0, tl.float64)
        {loop}
            {load}
            wide += tl.sum(tl.exp(x - shift).to(tl.float64), axis=0)
        total = wide.to(tl.float32)
    """,
    "online": """
        top = tl.full((), float("-inf"), tl.float32)
        total = tl.full((), 0.0, tl.float32)
        {loop}
            {load}
            above = tl.maximum(top, tl.max(x, axis=0))
            # Nothing but -inf so far: shift by nothing. NaN comes in with its own exponential.
            shift = tl.where({unshifted}, 0.0, above)
            total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), axis=0)
            top = above
        {shift}
    """,
}
PLAIN_SHIFT = "shift = top"
SAFE_SHIFT = 'shift = tl.where((top == float("inf")) | (top == float("-inf")), 0.0, top)'

SOFTMAX_KERNEL = """
    @triton.jit
    def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
{row}
{sums}
        {loop}
            {load}
            tl.store(out_ptr + row * width + start + lanes, tl.exp(x - {from_top}) {quotient}, mask=mask)
"""
SOFTMAX_LAUNCH = """
    y = x.contiguous()
    out = torch.empty_like(y)
    if y.numel():
        softmax_kernel[(len(y),)](y, out, y.shape[1], BLOCK={block})
    return out
"""
LSE_KERNEL = """
    @triton.jit
    def logsumexp_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
{row}
{sums}
        tl.store(out_ptr + row, {formula})
"""
LSE_LAUNCH = """
    y = x.contiguous()
    out = torch.empty(len(y), dtype=y.dtype, device=y.device)
    if len(y):
        logsumexp_kernel[(len(y),)](y, out, y.shape[1], BLOCK={block})
    return out
"""
LOSS_KERNEL = """
    @triton.jit
    def loss_kernel(x_ptr, target_ptr, out_ptr, width, BLOCK: tl.constexpr):
{row}
{sums}
        target = tl.load(target_ptr + row)
        picked = tl.load(x_ptr + row * width + target).to(tl.float32)
        tl.store(out_ptr + row, tl.log(total) - (picked - shift))
"""
MEAN_KERNEL = """
    @triton.jit
    def mean_kernel(losses_ptr, out_ptr, count, BLOCK: tl.constexpr):
        lanes = tl.arange(0, BLOCK)
        sums = tl.full((BLOCK,), 0.0, tl.float32)
        for start in range(0, count, BLOCK):
            sums += tl.load(losses_ptr + start + lanes, mask=lanes < count - start, other=0.0)
        tl.store(out_ptr, tl.sum(sums, axis=0) / count)
"""
LOSS_LAUNCH = """
    logits, wanted = predictions.contiguous(), targets.contiguous()
    losses = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    loss_kernel[(len(logits),)](logits, wanted, losses, logits.shape[1], BLOCK={block})
"""
MEANS = {
    "kernel": """
    out = torch.empty((), dtype=logits.dtype, device=logits.device)
    mean_kernel[(1,)](losses, out, len(logits), BLOCK=32)
    return out
""",
    "library": """
    return losses.mean().to(predictions.dtype)
""",
}

LOAD_ZERO = LOAD.replace('float("-inf")', "0.0")
MOMENTS = {
    "lanes": """
        sums = tl.full((BLOCK,), 0.0, tl.float32)
        {loop}
            {load}
            sums += x
        mean = tl.sum(sums, axis=0) / width
        squares = tl.full((BLOCK,), 0.0, tl.float32)
        {loop}
            {load}
            squares += tl.where(mask, (x - mean) * (x - mean), 0.0)
        variance = tl.sum(squares, axis=0) / width
    """,
    "blocks": """
        sums = tl.full((), 0.0, tl.float32)
        {loop}
            {load}
            sums += tl.sum(x, axis=0)
        mean = sums / width
        squares = tl.full((), 0.0, tl.float32)
        {loop}
            {load}
            centred = tl.where(mask, x - mean, 0.0)
            squares += tl.sum(centred * centred, axis=0)
        variance = squares / width
    """,
    "welford": """
        mean = tl.full((), 0.0, tl.float32)
        squares = tl.full((), 0.0, tl.float32)
        for start in range(0, width, BLOCK):
            {load}
            before = start * 1.0
            size = tl.minimum(width - start, BLOCK) * 1.0
            block_mean = tl.sum(x, axis=0) / size
            centred = tl.where(mask, x - block_mean, 0.0)
            delta = block_mean - mean
            squares += tl.sum(centred * centred, axis=0) + delta * delta * (before * size / (before + size))
            mean += delta * (size / (before + size))
        variance = squares / width
    """,
    "shifted": """
        # One element may be an outlier: the mean of the first block is near enough to the row's for one pass.
        head = tl.load(x_ptr + row * width + lanes, mask=lanes < width, other=0.0).to(tl.float32)
        first = tl.sum(head, axis=0) / tl.minimum(width, BLOCK)
        sums = tl.full((BLOCK,), 0.0, tl.float32)
        squares = tl.full((BLOCK,), 0.0, tl.float32)
        {loop}
            {load}
            shifted = tl.where(mask, x - first, 0.0)
            sums += shifted
            squares += shifted * shifted
        offset = tl.sum(sums, axis=0) / width
        mean = first + offset
        variance = tl.sum(squares, axis=0) / width - offset * offset
        # Rounding may leave a variance of zero a little below it; NaN is kept.
        variance = tl.where(variance < 0.0, 0.0, variance)
    """,
    "float64": """
        sums = tl.full((BLOCK,), 0.0, tl.float64)
        squares = tl.full((BLOCK,), 0.0, tl.float64)
        {loop}
            {load}
            sums += x.to(tl.float64)
            squares += x.to(tl.float64) * x.to(tl.float64)
        exact = tl.sum(sums, axis=0) / width
        spread = tl.sum(squares, axis=0) / width - exact * exact
        mean = exact.to(tl.float32)
        variance = tl.where(spread < 0.0, 0.0, spread).to(tl.float32)
    """,
}
LAYER_KERNEL = """
    @triton.jit
    def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
{row}
{sums}
        rstd = {root}
        {loop}
            {load}
            weight = tl.load(weight_ptr + start + lanes, mask=mask, other=0.0).to(tl.float32)
            bias = tl.load(bias_ptr + start + lanes, mask=mask, other=0.0).to(tl.float32)
            tl.store(out_ptr + row * width + start + lanes, (x - mean) * rstd * weight + bias, mask=mask)
"""
LAYER_LAUNCH = """
    y, weight, bias = x.contiguous(), self.norm.weight.contiguous(), self.norm.bias.contiguous()
    out = torch.empty_like(y)
    if y.numel():
        layernorm_kernel[(y.numel() // y.shape[-1],)](y, weight, bias, out, y.shape[-1], self.norm.eps, BLOCK={block})
    return out
"""
SQUARES = {
    "lanes": """
        squares = tl.full((BLOCK,), 0.0, tl.float32)
        {loop}
            {load}
            squares += x * x
        mean_square = tl.sum(squares, axis=0) / width
    """,
    "blocks": """
        squares = tl.full((), 0.0, tl.float32)
        {loop}
            {load}
            squares += tl.sum(x * x, axis=0)
        mean_square = squares / width
    """,
    "kahan": """
        squares = tl.full((BLOCK,), 0.0, tl.float32)
        carry = tl.full((BLOCK,), 0.0, tl.float32)
        {loop}
            {load}
            term = x * x - carry
            new = squares + term
            # The correction of an infinite sum is NaN, which must not get into the sum.
            carry = tl.where(tl.abs(new) < float("inf"), (new - squares) - term, 0.0)
            squares = new
        mean_square = tl.sum(squares, axis=0) / width
    """,
}
RMS_KERNEL = """
    @triton.jit
    def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
{row}
{sums}
        {loop}
            {load}
            weight = tl.load(weight_ptr + start + lanes, mask=mask, other=0.0).to(tl.float32)
            tl.store(out_ptr + row * width + start + lanes, x {root} * weight, mask=mask)
"""
RMS_LAUNCH = """
    y, weight = x.contiguous(), self.norm.weight.contiguous()
    out = torch.empty_like(y)
    if y.numel():
        rmsnorm_kernel[(len(y),)](y, weight, out, y.shape[1], self.norm.eps, BLOCK={block})
    return out
"""


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for sums, block, loop, quotient in (
        ("lanes", WHOLE, BLOCKS, "/ total"),
        ("lanes", "64", BLOCKS, "/ total"),
        ("lanes", "128", BACKWARD, "* (1.0 / total)"),
        ("blocks", "32", BLOCKS, "/ total"),
        ("blocks", "128", BACKWARD, "/ total"),
        ("float64", "64", BLOCKS, "/ total"),
        ("online", "64", BLOCKS, "/ total"),
        ("online", "128", BACKWARD, "* (1.0 / total)"),
    ):
        # Over an infinite maximum softmax is NaN, as the difference to it is.
        text = _sums(EXPONENTIAL_SUMS[sums], loop, LOAD, PLAIN_SHIFT, 'above == float("-inf")')
        kernel = SOFTMAX_KERNEL.format(row=ROW, sums=text, loop=BLOCKS, load=LOAD, from_top="top", quotient=quotient)
        yield SOFTMAX.triton(_name(sums, block, loop), SOFTMAX_LAUNCH.format(block=_size(block, "y.shape[1]")), kernel)
    for sums, block, loop, formula in (
        ("lanes", WHOLE, BLOCKS, "tl.log(total) + shift"),
        ("lanes", "32", BACKWARD, "tl.log2(total) / 1.4426950408889634 + shift"),
        ("blocks", "64", BLOCKS, "tl.log(total) + shift"),
        ("float64", "128", BLOCKS, "tl.log(total) + shift"),
        ("online", "64", BLOCKS, "tl.log(total) + shift"),
    ):
        text = _sums(EXPONENTIAL_SUMS[sums], loop, LOAD, SAFE_SHIFT, '(above == float("inf")) | (above == float("-inf"))')
        kernel = LSE_KERNEL.format(row=ROW, sums=text, formula=formula)
        yield LOGSUMEXP.triton(_name(sums, block, loop), LSE_LAUNCH.format(block=_size(block, "y.shape[1]")), kernel)
    for sums, block, loop, mean in (
        ("lanes", WHOLE, BLOCKS, "kernel"),
        ("lanes", "64", BACKWARD, "library"),
        ("blocks", "32", BLOCKS, "kernel"),
        ("float64", "64", BLOCKS, "library"),
    ):
        text = _sums(EXPONENTIAL_SUMS[sums], loop, LOAD, PLAIN_SHIFT)
        kernels = [LOSS_KERNEL.format(row=ROW, sums=text)] + ([MEAN_KERNEL] if mean == "kernel" else [])
        launch = LOSS_LAUNCH.format(block=_size(block, "logits.shape[1]")) + MEANS[mean]
        yield CROSS_ENTROPY.triton(f"{_name(sums, block, loop)} mean-{mean}", launch, *kernels)
    for sums, block, loop, root in (
        ("lanes", WHOLE, BLOCKS, "tl.rsqrt(variance + eps)"),
        ("lanes", "32", BACKWARD, "1.0 / tl.sqrt(variance + eps)"),
        ("blocks", "64", BLOCKS, "tl.rsqrt(variance + eps)"),
        ("welford", "32", BLOCKS, "1.0 / tl.sqrt(variance + eps)"),
        ("welford", "128", BLOCKS, "tl.rsqrt(variance + eps)"),
        ("shifted", "64", BLOCKS, "tl.rsqrt(variance + eps)"),
        ("float64", "64", BACKWARD, "1.0 / tl.sqrt(variance + eps)"),
    ):
        text = _sums(MOMENTS[sums], loop, LOAD_ZERO, "")
        kernel = LAYER_KERNEL.format(row=ROW, sums=text, root=root, loop=BLOCKS, load=LOAD_ZERO)
        yield LAYERNORM.triton(_name(sums, block, loop), LAYER_LAUNCH.format(block=_size(block, "y.shape[-1]")), kernel)
    for sums, block, loop, root in (
        ("lanes", WHOLE, BLOCKS, "* tl.rsqrt(mean_square + eps)"),
        ("lanes", "64", BACKWARD, "/ tl.sqrt(mean_square + eps)"),
        ("blocks", "32", BLOCKS, "* (1.0 / tl.sqrt(mean_square + eps))"),
        ("blocks", "128", BACKWARD, "* tl.rsqrt(mean_square + eps)"),
        ("kahan", "16", BLOCKS, "* tl.rsqrt(mean_square + eps)"),
    ):
        text = _sums(SQUARES[sums], loop, LOAD_ZERO, "")
        kernel = RMS_KERNEL.format(row=ROW, sums=text, loop=BLOCKS, load=LOAD_ZERO, root=root)
        yield RMSNORM.triton(_name(sums, block, loop), RMS_LAUNCH.format(block=_size(block, "y.shape[1]")), kernel)


def _sums(text: str, loop: str, load: str, shift: str, unshifted: str = "") -> str:
    return text.strip("\n").rstrip().format(loop=loop, load=load, shift=shift, unshifted=unshifted)


def _size(block: str, width: str) -> str:
    return f"triton.next_power_of_2({width})" if block == WHOLE else block


def _name(sums: str, block: str, loop: str) -> str:
    return f"{sums} block-{block}{' backward' if loop == BACKWARD else ''}"
