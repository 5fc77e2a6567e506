"""Summation orders as source text: every entry defines ``total(y)``, the sum over the last dimension, which is kept.

All of them are exact on small integers, let NaN and infinities through as one addition after another does, and can be
differentiated by autograd.
"""

from __future__ import annotations

from collections.abc import Mapping

_BLOCKED = """
def total(y):
    out = torch.zeros_like(y[..., :1])
    for block in y.split({size}, dim=-1):
        out = out + block.sum(-1, keepdim=True)
    return out
"""

_SPLIT = """
def total(y):
    return torch.stack([part.sum(-1) for part in y.chunk({parts}, dim=-1)], dim=-1).sum(-1, keepdim=True)
"""

_STRIDED = """
def total(y):
    out = y[..., :: {stride}].sum(-1, keepdim=True)
    for lane in range(1, min({stride}, y.shape[-1])):
        out = out + y[..., lane :: {stride}].sum(-1, keepdim=True)
    return out
"""

_TREE_OF_BLOCKS = """
def total(y):
    sums = torch.stack([block.sum(-1) for block in y.split({size}, dim=-1)], dim=-1)
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = torch.cat((sums[..., :half] + sums[..., half : 2 * half], sums[..., 2 * half :]), dim=-1)
    return sums
"""

LIBRARY = """
def total(y):
    return y.sum(-1, keepdim=True)
"""

SUMS: Mapping[str, str] = {
    "forward": """
def total(y):
    out = torch.zeros_like(y[..., :1])
    for column in y.split(1, dim=-1):
        out = out + column
    return out
""",
    "backward": """
def total(y):
    out = torch.zeros_like(y[..., :1])
    for column in reversed(y.split(1, dim=-1)):
        out = out + column
    return out
""",
    "flipped": """
def total(y):
    return y.flip(-1).sum(-1, keepdim=True)
""",
    "pairwise": """
def total(y):
    while y.shape[-1] > 1:
        half = y.shape[-1] // 2
        y = torch.cat((y[..., :half] + y[..., half : 2 * half], y[..., 2 * half :]), dim=-1)
    return y
""",
    "neighbours": """
def total(y):
    while y.shape[-1] > 1:
        even = y.shape[-1] // 2 * 2
        y = torch.cat((y[..., 0:even:2] + y[..., 1:even:2], y[..., even:]), dim=-1)
    return y
""",
    "kahan": """
def total(y):
    out = torch.zeros_like(y[..., :1])
    carry = torch.zeros_like(out)
    for column in y.split(1, dim=-1):
        term = column - carry
        new = out + term
        # The correction of an infinite sum is NaN, which must not get into the sum.
        carry = torch.where(new.isfinite(), (new - out) - term, torch.zeros_like(new)).detach()
        out = new
    return out
""",
    "kahan16": """
def total(y):
    out = torch.zeros_like(y[..., :1])
    carry = torch.zeros_like(out)
    for block in y.split(16, dim=-1):
        term = block.sum(-1, keepdim=True) - carry
        new = out + term
        # The correction of an infinite sum is NaN, which must not get into the sum.
        carry = torch.where(new.isfinite(), (new - out) - term, torch.zeros_like(new)).detach()
        out = new
    return out
""",
    "neumaier": """
def total(y):
    out = torch.zeros_like(y[..., :1])
    lost = torch.zeros_like(out)
    for column in y.split(1, dim=-1):
        new = out + column
        error = torch.where(out.abs() >= column.abs(), (out - new) + column, (column - new) + out)
        lost = lost + torch.where(new.isfinite(), error, torch.zeros_like(error)).detach()
        out = new
    return out + lost
""",
    "twosum": """
def total(y):
    lost = torch.zeros_like(y[..., :1])
    while y.shape[-1] > 1:
        half = y.shape[-1] // 2
        a, b = y[..., :half], y[..., half : 2 * half]
        s = a + b
        big = s - a
        error = (a - (s - big)) + (b - big)
        lost = lost + torch.where(s.isfinite(), error, torch.zeros_like(error)).detach().sum(-1, keepdim=True)
        y = torch.cat((s, y[..., 2 * half :]), dim=-1)
    return y + lost
""",
    "float64": """
def total(y):
    return y.double().sum(-1, keepdim=True).to(y.dtype)
""",
    "sorted": """
def total(y):
    order = y.detach().abs().argsort(dim=-1)
    return y.gather(-1, order).sum(-1, keepdim=True)
""",
    "descending": """
def total(y):
    order = y.detach().abs().argsort(dim=-1, descending=True)
    out = torch.zeros_like(y[..., :1])
    for column in y.gather(-1, order).split(1, dim=-1):
        out = out + column
    return out
""",
    "ones": """
def total(y):
    return y @ torch.ones(y.shape[-1], 1, dtype=y.dtype, device=y.device)
""",
    "scan": """
def total(y):
    return y.cumsum(-1)[..., -1:]
""",
    **{f"blocked{size}": _BLOCKED.format(size=size) for size in (16, 32, 64, 128)},
    **{f"split{parts}": _SPLIT.format(parts=parts) for parts in (2, 4, 8)},
    **{f"strided{stride}": _STRIDED.format(stride=stride) for stride in (2, 4, 8, 32)},
    **{f"tree{size}": _TREE_OF_BLOCKS.format(size=size) for size in (8, 32)},
}
"""By name. ``forward`` to ``neumaier`` are loops over columns; the others leave the innermost sum to the library."""


def orders(names: str) -> Mapping[str, str]:
    """Some of :data:`SUMS`, by names separated by blanks."""
    return {name: SUMS[name] for name in names.split()}
