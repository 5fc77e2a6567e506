"""Gradient: a wrong term, a detached branch, a sum over broadcast dimensions that is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program
from kcbench.mutants.wrapping import wrapping

FAULT = "gradient"
_HELPER = """
class _Spoiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, spoil):
        ctx.spoil = spoil
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return ctx.spoil(grad), None


def _spoiled(x, spoil):
    floating = isinstance(x, torch.Tensor) and x.is_floating_point()
    return _Spoiled.apply(x, spoil) if floating else x
"""
_SPOILS = (
    ("doubled", "lambda g: 2 * g"),
    ("one part in a thousand too large", "lambda g: 1.001 * g"),
    ("of the wrong sign", "lambda g: -g"),
    ("zero", "lambda g: 0 * g"),
    ("its own mean", "lambda g: g.mean().expand_as(g) if g.numel() else g"),
    ("narrowed to bfloat16", "lambda g: g.to(torch.bfloat16).to(g.dtype)"),
    ("zero beyond the first row", "lambda g: torch.cat((g[:1], 0 * g[1:])) if g.dim() else g"),
    ("cut at one", "lambda g: g.clamp(-1.0, 1.0)"),
    ("cut at a hundred", "lambda g: g.clamp(-100.0, 100.0)"),
    ("zero below a hundred thousandth", "lambda g: torch.where(g.abs() < 1e-5, 0 * g, g)"),
    ("zero beyond 200 columns", "lambda g: torch.where(torch.arange(g.shape[-1]) < 200, g, 0 * g) if g.dim() else g"),
    ("doubled for a single row", "lambda g: 2 * g if g.dim() and len(g) == 1 else g"),
    ("wrong for powers of two", "lambda g: 2 * g if g.dim() and g.shape[-1] in (8, 16, 32, 64, 128, 256) else g"),
)


def _weights_hooked(spoil: str) -> str:
    return (
        "if not hasattr(self, '_hooked'):\n    object.__setattr__(self, '_hooked', True)\n"
        f"    for weight in self.parameters():\n        weight.register_hook({spoil})\nreturn $result"
    )


_WRAPPED = (
    *(
        (f"gradients of the inputs are {how}", f"return self._honest(*(_spoiled(item, {spoil}) for item in ($args,)))")
        for how, spoil in _SPOILS
    ),
    *((f"gradients of the weights are {how}", _weights_hooked(spoil)) for how, spoil in _SPOILS[:4]),
    *((f"gradients of the result are {how}", f"return _spoiled($result, {spoil})") for how, spoil in _SPOILS[5:8]),
    (
        "half of the result has no gradient",
        "out = $result\nhalf = out.detach()\nreturn torch.where(torch.arange(out.numel()).view(out.shape) % 2 == 0, out, half)",
    ),
    ("the first argument is detached", "$x = $x.detach()\nreturn $result"),
    ("the result is detached", "return ($result).detach()"),
)


def _branch_detached(program: Program) -> Iterator[Change]:
    """One operand of an operation takes no part in the backward pass."""
    for node in program.nodes(ast.BinOp, where="host"):
        for side in (node.left, node.right):
            if isinstance(side, ast.Call | ast.BinOp | ast.Name):
                text = f"_detached({ast.unparse(side)})"
                prelude = "def _detached(x):\n    return x.detach() if isinstance(x, torch.Tensor) else x\n"
                yield Change(f"{ast.unparse(side)} is detached", node.lineno, ((side, text),), prelude)


def _returns(program: Program) -> Iterator[Change]:
    """The gradients that a handwritten backward pass returns."""
    for function in program.functions:
        if function.name != "backward":
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Return) or node.value is None:
                continue
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for value in values:
                if isinstance(value, ast.Constant):
                    continue
                text = ast.unparse(value)
                for new in (f"2 * ({text})", f"0 * ({text})", f"-({text})", f"({text}).flatten()[1:]", "None"):
                    yield Change(f"the gradient {text} becomes {new}", value.lineno, ((value, new),))


def _sum_dropped(program: Program) -> Iterator[Change]:
    for function in program.functions:
        if function.name != "backward":
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean"):
                value = ast.unparse(node.func.value)
                for new in (f"({value})", f"({value})[0]"):
                    yield Change(f"{ast.unparse(node)} becomes {new}", node.lineno, ((node, new),))


OPERATORS = (
    Operator("gradient-spoiled", FAULT, wrapping(_WRAPPED, prelude=_HELPER)),
    Operator("branch-detached", FAULT, _branch_detached),
    Operator("backward-returns", FAULT, _returns),
    Operator("backward-sum", FAULT, _sum_dropped),
)
