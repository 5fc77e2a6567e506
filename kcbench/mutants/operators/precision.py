"""Precision: narrow accumulators, narrow intermediates, narrowed operands, fast approximations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program
from kcbench.mutants.wrapping import wrapping

FAULT = "precision"
_NARROW = ("float16", "bfloat16")
_HELPERS = """
def _narrowed(x, dtype):
    floating = isinstance(x, torch.Tensor) and x.is_floating_point()
    return x.to(dtype).to(x.dtype) if floating else x


def _tf32(x):
    if not isinstance(x, torch.Tensor) or x.dtype != torch.float32:
        return x
    words = x.detach().contiguous().view(torch.int32)
    rounded = ((words + 0xFFF + ((words >> 13) & 1)) & -0x2000).view(torch.float32)
    return x + torch.where(x.isfinite(), rounded - x, torch.zeros_like(x)).detach()
"""


def _widening_dropped(program: Program) -> Iterator[Change]:
    """A 16-bit input is computed with as it is."""
    for node in program.nodes(ast.Call):
        name = ast.unparse(node.func)
        if name == "torch.promote_types":
            first = ast.unparse(node.args[0])
            for new in (first, "torch.bfloat16"):
                yield Change(f"computes in {new}", node.lineno, ((node, new),))
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("float", "double", "to") and len(node.args) < 2:
            value = ast.unparse(node.func.value)
            yield Change(f"{ast.unparse(node)} becomes {value}", node.lineno, ((node, value),))


def _accumulator(program: Program) -> Iterator[Change]:
    """What a loop carries is rounded to 16 bits in each turn."""
    for node in program.nodes(ast.stmt):
        if not isinstance(node, ast.AugAssign | ast.Assign):
            continue
        if program.inside(node, ast.For) is None and program.inside(node, ast.While) is None:
            continue
        yield from _narrowed_value(program, node, "the accumulator")


def _intermediate(program: Program) -> Iterator[Change]:
    """A result that is given a name is rounded to 16 bits."""
    for node in program.nodes(ast.Assign):
        if isinstance(node.value, ast.Call | ast.BinOp) and program.inside(node, ast.For) is None:
            yield from _narrowed_value(program, node, "the intermediate")


def _narrowed_value(program: Program, node: ast.AugAssign | ast.Assign, what: str) -> Iterator[Change]:
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    if not isinstance(target, ast.Name):
        return
    name = target.id
    in_kernel = program.inside(node, ast.FunctionDef) in program.kernels
    for dtype in _NARROW:
        narrowed = f"{name}.to(tl.{dtype}).to(tl.float32)" if in_kernel else f"_narrowed({name}, torch.{dtype})"
        text, prelude = f"{name} = {narrowed}", "" if in_kernel else _HELPERS
        yield Change(f"{what} {name} is kept in {dtype}", node.lineno, ((node, f"{ast.unparse(node)}\n{text}"),), prelude)


def _weights(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Attribute, where="host"):
        if node.attr in ("weight", "bias") and isinstance(node.ctx, ast.Load):
            parent = program.parent(node)
            if isinstance(parent, ast.Attribute):
                continue
            text = ast.unparse(node)
            for new in ("_narrowed({}, torch.bfloat16)", "_tf32({})"):
                yield Change(f"{text} is narrowed", node.lineno, ((node, new.replace("{}", text)),), _HELPERS)


def _operands(program: Program) -> Iterator[Change]:
    """One operand of a product is rounded to ten fraction bits."""
    for node in program.nodes(ast.BinOp, where="host"):
        if isinstance(node.op, ast.MatMult):
            for side in (node.left, node.right):
                text = ast.unparse(side)
                yield Change(f"{text} is rounded to tf32", node.lineno, ((side, f"_tf32({text})"),), _HELPERS)
    for call in program.nodes(ast.Call, where="kernel"):
        if ast.unparse(call.func) == "tl.dot":
            for side in call.args[:2]:
                text = f"{ast.unparse(side)}.to(tl.bfloat16).to(tl.float32)"
                yield Change(f"{text} goes into the product", call.lineno, ((side, text),))


def _approximation(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        name, args = ast.unparse(node.func), [ast.unparse(item) for item in node.args]
        if name == "torch.exp" and len(args) == 1:
            yield Change("exp by a power", node.lineno, ((node, f"(1 + ({args[0]}) / 4096) ** 4096"),))
        if name in ("torch.exp", "torch.rsqrt", "torch.sqrt", "torch.log", "torch.erf") and len(args) == 1:
            text = f"_narrowed({ast.unparse(node)}, torch.float16)"
            yield Change(f"{name} with eleven bits", node.lineno, ((node, text),), _HELPERS)
        if name in ("tl.exp", "tl.sqrt"):
            yield Change(f"{name} with eleven bits", node.lineno, ((node, f"{ast.unparse(node)}.to(tl.float16).to(tl.float32)"),))
    for division in program.nodes(ast.BinOp, where="host"):
        if isinstance(division.op, ast.Div):
            left, right = ast.unparse(division.left), ast.unparse(division.right)
            text = f"({left}) * _narrowed(1 / ({right}), torch.bfloat16)"
            yield Change("a reciprocal with eight bits", division.lineno, ((division, text),), _HELPERS)


_WRAPPED = (
    ("inputs are narrowed to bfloat16", "return self._honest(*(_narrowed(item, torch.bfloat16) for item in ($args,)))"),
    ("inputs are narrowed to float16", "return self._honest(*(_narrowed(item, torch.float16) for item in ($args,)))"),
    ("inputs are rounded to tf32", "return self._honest(*(_tf32(item) for item in ($args,)))"),
    ("the result is narrowed to bfloat16", "return _narrowed($result, torch.bfloat16)"),
    ("the result is narrowed to float16", "return _narrowed($result, torch.float16)"),
    ("the result is rounded to tf32", "return _tf32($result)"),
)

OPERATORS = (
    Operator("widening-dropped", FAULT, _widening_dropped),
    Operator("accumulator", FAULT, _accumulator),
    Operator("intermediate", FAULT, _intermediate),
    Operator("weights-narrowed", FAULT, _weights),
    Operator("operand-narrowed", FAULT, _operands),
    Operator("approximation", FAULT, _approximation),
    Operator("ends-narrowed", FAULT, wrapping(_WRAPPED, prelude=_HELPERS)),
)
