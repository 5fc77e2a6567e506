"""Arithmetic: a sign, a constant, a term or a factor that is gone, another form of the activation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program
from kcbench.mutants.wrapping import wrapping

FAULT = "arithmetic"
_OTHER_SIGN = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*"}
_FORMS = {
    "torch.relu": ("F.leaky_relu({}, 0.01)", "F.elu({})", "F.relu6({})", "F.softplus({}, 20.0)"),
    "F.gelu": ("F.gelu({}, approximate='tanh')", "{} * torch.sigmoid(1.702 * ({}))", "F.silu({})", "torch.relu({})"),
    "torch.exp": ("torch.exp2({})", "torch.expm1({})"),
    "tl.exp": ("tl.exp2({})",),
    "torch.erf": ("torch.tanh({})",),
    "torch.rsqrt": ("torch.sqrt({})", "torch.rsqrt({}).square()"),
    "tl.sqrt": ("({})",),
    "torch.log": ("torch.log2({})", "torch.log1p({})"),
}
_REMOVABLE = frozenset({"exp", "sqrt", "rsqrt", "square", "abs", "erf", "log", "log1p", "tanh", "relu", "softmax", "neg"})


def _sign(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.BinOp):
        sign = _OTHER_SIGN.get(type(node.op))
        if sign is not None and not _about_text(node):
            new = f"({ast.unparse(node.left)}) {sign} ({ast.unparse(node.right)})"
            yield Change(f"{ast.unparse(node)} becomes {new}", node.lineno, ((node, f"({new})"),))


def _about_text(node: ast.BinOp) -> bool:
    return any(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in ast.walk(node))


def _negation_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.UnaryOp):
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield Change(f"{ast.unparse(node)} without its sign", node.lineno, ((node, ast.unparse(node.operand)),))


def _term_dropped(program: Program) -> Iterator[Change]:
    """An addend or a factor is left out: an epsilon, a bias, a scale."""
    for node in program.nodes(ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div) or _about_text(node):
            continue
        what = "term" if isinstance(node.op, ast.Add | ast.Sub) else "factor"
        sides = [(node.left, node.right)]
        if isinstance(node.op, ast.Add | ast.Mult):
            sides.append((node.right, node.left))
        for kept, gone in sides:
            yield Change(f"the {what} {ast.unparse(gone)} is dropped", node.lineno, ((node, ast.unparse(kept)),))


def _constant(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Constant):
        if type(node.value) is float and 0 < abs(node.value) < 1e30:
            for factor in (1.01, 0.1):
                new = repr(node.value * factor)
                yield Change(f"{node.value!r} becomes {new}", node.lineno, ((node, new),))


def _epsilon(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.keyword):
        if node.arg == "eps":
            for new in ("0.0", "1e-12", "1e-3"):
                yield Change(f"eps={new}", node.value.lineno, ((node.value, new),))


def _form(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        for pattern in _FORMS.get(ast.unparse(node.func), ()) if len(node.args) == 1 else ():
            new = pattern.replace("{}", ast.unparse(node.args[0]))
            yield Change(
                f"{ast.unparse(node)} becomes {new}", node.lineno, ((node, f"({new})"),), "import torch.nn.functional as F"
            )


def _call_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _REMOVABLE:
            module = ast.unparse(node.func.value) in ("torch", "F", "tl")
            if module and node.args:
                yield Change(f"{node.func.attr} is left out", node.lineno, ((node, ast.unparse(node.args[0])),))
            elif not module:
                yield Change(f"{node.func.attr} is left out", node.lineno, ((node, ast.unparse(node.func.value)),))


_SCALED = (
    ("the result is one part in a thousand too large", "return $result * 1.001"),
    ("the result is one part in thirty thousand too large", "return $result * (1 + 2.0**-15)"),
    ("a thousandth is added to the result", "return $result + 0.001"),
    ("the result has the wrong sign", "return -($result)"),
    (
        "one element is 1 % off",
        "out = $result\nscale = torch.ones_like(out).flatten()\nscale[out.numel() // 3 :][:1] = 1.01\n"
        "return out * scale.view(out.shape)",
    ),
)

OPERATORS = (
    Operator("other-sign", FAULT, _sign),
    Operator("negation-dropped", FAULT, _negation_dropped),
    Operator("term-dropped", FAULT, _term_dropped),
    Operator("constant", FAULT, _constant),
    Operator("epsilon", FAULT, _epsilon),
    Operator("other-form", FAULT, _form),
    Operator("call-dropped", FAULT, _call_dropped),
    Operator("result-off", FAULT, wrapping(_SCALED)),
)
