"""Shape: right at the sizes that were tried, wrong at others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program
from kcbench.mutants.wrapping import Case, wrapping

FAULT = "shape"


def _cases() -> Iterator[Case]:
    for step in (2, 4, 8, 32, 128):
        yield (
            f"a tail beyond a multiple of {step} elements is not written",
            f"out = $result\nkeep = out.numel() // {step} * {step}\n"
            "mask = (torch.arange(out.numel()) < keep).view(out.shape)\nreturn torch.where(mask, out, torch.zeros_like(out))",
        )
        yield (
            f"a tail of the last dimension beyond a multiple of {step} is not written",
            f"out = $result\nif not out.dim():\n    return out\nkeep = out.shape[-1] // {step} * {step}\n"
            "mask = torch.arange(out.shape[-1]) < keep\nreturn torch.where(mask, out, torch.zeros_like(out))",
        )
    for limit in (64, 256, 1024):
        yield (
            f"what lies beyond {limit} in the input's last dimension is not seen",
            "x = $x\nif x.dim() and x.is_floating_point():\n"
            f"    $x = torch.where(torch.arange(x.shape[-1]) < {limit}, x, 0 * x)\nreturn $result",
        )
        yield (
            f"rows beyond {limit} are not written",
            f"out = $result\nif not out.dim():\n    return out\nmask = (torch.arange(out.shape[0]) < {limit})"
            ".view(-1, *[1] * (out.dim() - 1))\nreturn torch.where(mask, out, torch.zeros_like(out))",
        )
    yield "a batch of one is squeezed", "out = $result\nreturn out.squeeze(0) if $x.shape[0] == 1 else out"
    yield "a batch of one is wrong", "out = $result\nreturn out * 0.5 if $x.shape[0] == 1 else out"
    yield "a last dimension of one is wrong", "out = $result\nreturn out * 0.5 if $x.shape[-1] == 1 else out"
    yield "fewer than four rows are wrong", "out = $result\nreturn out * 0.5 if $x.shape[0] < 4 else out"
    yield "an empty input raises", "if $x.numel() == 0:\n    raise RuntimeError('nothing to do')\nreturn $result"
    yield "odd sizes are wrong", "out = $result\nreturn out * 0.5 if $x.shape[-1] % 2 and $x.shape[-1] > 1 else out"
    yield "even sizes are wrong", "out = $result\nreturn out * 0.5 if $x.shape[-1] % 2 == 0 and $x.numel() else out"
    yield "powers of two are wrong", "out = $result\nn = $x.shape[-1]\nreturn out * 0.5 if n > 1 and n & (n - 1) == 0 else out"
    yield "only powers of two are right", "out = $result\nn = $x.shape[-1]\nreturn out * 0.5 if n & (n - 1) else out"
    yield "more than a thousand columns are wrong", "out = $result\nreturn out * 0.5 if $x.shape[-1] > 1000 else out"
    yield (
        "the first size seen is the only one",
        "if not hasattr(self, '_size'):\n    object.__setattr__(self, '_size', $x.shape[-1])\n"
        "out = $result\nreturn out if $x.shape[-1] == self._size else out * 0",
    )
    yield (
        "a last dimension that differs from the first size is cut to it",
        "if not hasattr(type(self), '_rows'):\n    type(self)._rows = $x.shape[0]\nout = $result\n"
        "return torch.cat((out[: self._rows], 0 * out[self._rows :])) if out.dim() else out",
    )


def _tile(program: Program) -> Iterator[Change]:
    """Another tile: mostly an honest kernel again."""
    for node in program.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            for new in (node.value.value - 1, node.value.value * 2, 1):
                if new > 0:
                    yield Change(f"{ast.unparse(node.targets[0])} = {new}", node.lineno, ((node.value, str(new)),))


def _grid(program: Program) -> Iterator[Change]:
    """The grid of a Triton kernel is one program long."""
    for node in program.nodes(ast.Subscript, where="host"):
        if isinstance(node.value, ast.Name) and node.value.id in {kernel.name for kernel in program.kernels}:
            for text in ("(1, 1)", f"tuple(max(size - 1, 1) for size in {_as_tuple(node.slice)})"):
                yield Change(f"the grid is {text}", node.lineno, ((node.slice, text),))


def _as_tuple(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.Tuple) and not text.startswith("(") else text


OPERATORS = (
    Operator("size-special", FAULT, wrapping(tuple(_cases()))),
    Operator("tile", FAULT, _tile),
    Operator("grid", FAULT, _grid),
)
