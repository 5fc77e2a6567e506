"""Index and stride: the wrong dimension, the wrong operand, a layout taken for granted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program
from kcbench.mutants.wrapping import wrapping

FAULT = "index"
_WITH_DIM = frozenset(
    {"sum", "mean", "amax", "amin", "max", "softmax", "log_softmax", "logsumexp", "cumsum"}
    | {"split", "chunk", "narrow", "flip", "cat", "stack", "movedim", "unsqueeze", "squeeze"}
)
_VIEWS = frozenset({"t", "transpose", "permute", "movedim", "contiguous", "mT", "mH", "T", "flip"})


def _other_dim(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        values = [keyword.value for keyword in node.keywords if keyword.arg in ("dim", "axis")]
        if name in _WITH_DIM:
            values += node.args
        for value in values:
            dim = _constant(value)
            if dim is not None and -4 <= dim <= 4:
                for new in {-1: (-2,), -2: (-1,), 0: (1,), 1: (0, -1), 2: (1,)}.get(dim, ()):
                    yield Change(f"{name} along {new} instead of {dim}", node.lineno, ((value, str(new)),))


def _constant(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def _subscript_swapped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Subscript):
        if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
            one, two = (ast.unparse(item) for item in node.slice.elts)
            if one != two:
                new = f"{ast.unparse(node.value)}[{two}, {one}]"
                if isinstance(node.ctx, ast.Load):
                    yield Change(f"{ast.unparse(node)} becomes {new}", node.lineno, ((node, new),))


def _name_swapped(program: Program) -> Iterator[Change]:
    """A size or stride of a Triton kernel is taken for another of its arguments."""
    for kernel in program.kernels:
        names = [item.arg for item in kernel.args.args if item.annotation is None and not item.arg.endswith("_ptr")]
        for node in program.nodes(ast.Name, where="kernel"):
            if node.id in names and program.inside(node, ast.FunctionDef) is kernel:
                for other in names:
                    if other != node.id and other != "eps":
                        yield Change(f"{other} stands for {node.id}", node.lineno, ((node, other),))


def _program_axis(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call, where="kernel"):
        if ast.unparse(node.func) == "tl.program_id" and node.args:
            new = "1" if ast.unparse(node.args[0]) == "0" else "0"
            yield Change(f"program_id({new})", node.lineno, ((node.args[0], new),))


def _lanes_shifted(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call, where="kernel"):
        if ast.unparse(node.func) == "tl.arange":
            yield Change("the lanes begin at 1", node.lineno, ((node, f"({ast.unparse(node)} + 1)"),))


def _view_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Attribute):
        if node.attr not in _VIEWS:
            continue
        parent = program.parent(node)
        whole: ast.AST = parent if isinstance(parent, ast.Call) and parent.func is node else node
        value = ast.unparse(node.value)
        if value not in ("torch", "F", "tl"):
            yield Change(f"{ast.unparse(whole)} becomes {value}", node.lineno, ((whole, value),))


def _operands_swapped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            new = f"({ast.unparse(node.right)}) @ ({ast.unparse(node.left)})"
            yield Change(f"{ast.unparse(node)} with its operands swapped", node.lineno, ((node, new),))
    for call in program.nodes(ast.Call):
        if ast.unparse(call.func) in ("torch.matmul", "torch.bmm", "torch.mm") and len(call.args) == 2:
            new = f"{ast.unparse(call.func)}({ast.unparse(call.args[1])}, {ast.unparse(call.args[0])})"
            yield Change(f"{ast.unparse(call)} with its operands swapped", call.lineno, ((call, new),))


_LAYOUT = """
def _flat(x):
    if not isinstance(x, torch.Tensor):
        return x
    strides = [1]
    for size in reversed(x.shape[1:]):
        strides.insert(0, strides[0] * size)
    return x.as_strided(x.shape, strides[: x.dim()]) if x.dim() else x


def _from_the_start(x):
    return x.as_strided(x.shape, x.stride(), 0) if isinstance(x, torch.Tensor) else x
"""
_LAYOUTS = (
    ("inputs are read as if they were contiguous", "return self._honest(*(_flat(item) for item in ($args,)))"),
    ("inputs are read from the start of their storage", "return self._honest(*(_from_the_start(item) for item in ($args,)))"),
)
_MOVED = (
    ("the first dimension comes out in reverse order", "out = $result\nreturn out.flip(0) if out.dim() else out"),
    ("the last dimension comes out rotated by one", "out = $result\nreturn out.roll(1, -1) if out.dim() else out"),
    (
        "a square result comes out transposed",
        "out = $result\nreturn out.mT.contiguous() if out.dim() > 1 and out.shape[-1] == out.shape[-2] else out",
    ),
)

OPERATORS = (
    Operator("other-dim", FAULT, _other_dim),
    Operator("subscript-swapped", FAULT, _subscript_swapped),
    Operator("name-swapped", FAULT, _name_swapped),
    Operator("program-axis", FAULT, _program_axis),
    Operator("lanes-shifted", FAULT, _lanes_shifted),
    Operator("view-dropped", FAULT, _view_dropped),
    Operator("operands-swapped", FAULT, _operands_swapped),
    Operator("layout-assumed", FAULT, wrapping(_LAYOUTS, prelude=_LAYOUT)),
    Operator("result-moved", FAULT, wrapping(_MOVED)),
)
