"""Recipes for a problem's inputs and parameters: what may be varied freely, and what only its own generator makes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from kcbench.domain.contract import Size
from kcbench.infer.problem import Problem
from kcbench.syntax import parse_module

_DRAWS = frozenset({"rand", "randn", "rand_like", "randn_like"})
_IDENTITY_SPREAD = 0.3
_BIAS_SPREAD = 0.5
_MATRIX_GAIN = 1.5
_DEEP = 12
"""Number of matrices above which their spread is kept: gains of many layers multiply."""


def plain_inputs(code: str, count: int) -> list[bool]:
    """Whether each input is a plain random tensor: a draw, perhaps scaled, that nothing has given a structure.

    Args:
        code: The problem's source.
        count: Number of inputs.
    """
    module = parse_module(code)
    function = next((n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "get_inputs"), None)
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return)] if function else []
    if function is None or len(returns) != 1 or not isinstance(returns[0].value, (ast.List, ast.Tuple)):
        return [False] * count
    assigned: dict[str, list[ast.expr]] = {}
    for node in (*module.body, *function.body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
    if not all(_harmless(node) for node in function.body):
        return [False] * count
    elements = returns[0].value.elts
    return [_plain(element, assigned) for element in elements] if len(elements) == count else [False] * count


def _harmless(node: ast.stmt) -> bool:
    """Whether a statement of ``get_inputs`` cannot write into a tensor: an assignment to a name, a seed, a return."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "manual_seed"
    return isinstance(node, ast.Return) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _plain(node: ast.expr, assigned: Mapping[str, list[ast.expr]]) -> bool:
    if isinstance(node, ast.Name) and node.id in assigned:
        return len(assigned[node.id]) == 1 and _plain(assigned[node.id][0], {k: v for k, v in assigned.items() if k != node.id})
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _DRAWS:
            return True
        return node.func.attr in ("to", "float", "contiguous", "cuda") and _plain(node.func.value, assigned)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add, ast.Sub, ast.Div)):
        sides = [node.left, node.right]
        return all(_plain(side, assigned) or _number(side, assigned) for side in sides)
    return False


def _number(node: ast.expr, assigned: Mapping[str, list[ast.expr]]) -> bool:
    if isinstance(node, ast.Name) and node.id in assigned:
        return len(assigned[node.id]) == 1 and _number(assigned[node.id][0], {k: v for k, v in assigned.items() if k != node.id})
    if isinstance(node, ast.UnaryOp):
        return _number(node.operand, assigned)
    return isinstance(node, ast.Constant)


def argument_names(problem: Problem, count: int) -> list[str]:
    """Names of ``forward``'s positional arguments; ``input_<i>`` where it takes any."""
    try:
        signature = inspect.signature(problem.module({}).Model.forward)
    except (TypeError, ValueError):
        return [f"input_{index}" for index in range(count)]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [name for name, parameter in signature.parameters.items() if parameter.kind in kinds][1:]
    return [names[index] if index < len(names) else f"input_{index}" for index in range(count)]


def describe_inputs(
    problem: Problem, sizes: Mapping[str, int], shapes: tuple[tuple[Size, ...], ...]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The contract's inputs, and the reasons for those that keep the problem's own generator.

    Raises:
        ValueError: An input is neither a tensor nor a number.
    """
    values = problem.inputs(sizes)
    plain = plain_inputs(problem.sites.code, len(values))
    inputs: list[dict[str, Any]] = []
    reasons: dict[str, str] = {}
    for name, value, shape, free in zip(argument_names(problem, len(values)), values, shapes, plain, strict=True):
        if isinstance(value, (int, float)):
            inputs.append({"name": name, "shape": [], "kind": "scalar", "value": value})
            continue
        if not isinstance(value, Tensor):
            raise ValueError(f"the input {name} is a {type(value).__name__}, neither a tensor nor a number")
        item: dict[str, Any] = {"name": name, "shape": list(shape)}
        if not value.is_floating_point():
            item |= {"kind": "given", "domain": "recipe", "recipe": {"kind": "problem"}}
            reasons[f"inputs.{name}"] = f"{str(value.dtype).removeprefix('torch.')}: drawn by get_inputs"
        elif free:
            item |= {"recipe": {"kind": "normal"}}
        else:
            item |= {"domain": "recipe", "recipe": {"kind": "problem"}, "structured": True}
            reasons[f"inputs.{name}"] = (
                "get_inputs gives it a structure (or draws it in a way that is not recognised), so it keeps it"
            )
        inputs.append(item)
    return inputs, reasons


def describe_parameters(model: nn.Module) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """How each parameter and buffer is redrawn: zeros and ones moved off the identity, matrices wider, masks kept."""
    parameters = dict(model.named_parameters())
    deep = sum(value.dim() > 1 for value in parameters.values()) > _DEEP
    recipes: dict[str, dict[str, Any]] = {}
    reasons: dict[str, str] = {}
    for name, value in model.state_dict().items():
        if not value.is_floating_point():
            continue
        if name.endswith("running_var"):
            recipes[name] = {"kind": "positive"}
        elif name.endswith("running_mean"):
            recipes[name] = {"kind": "normal", "std": _BIAS_SPREAD}
        elif name not in parameters:
            recipes[name] = {"kind": "problem"}
            reasons[f"parameters.{name}"] = "a buffer keeps its constructed value: it may be a mask or a table"
        else:
            recipes[name] = _recipe(value.detach().double(), deep)
    return recipes, reasons


def _recipe(value: Tensor, deep: bool) -> dict[str, Any]:
    mean = float(value.mean()) if value.numel() else 0.0
    spread = float(value.std(correction=0)) if value.numel() > 1 else 0.0
    if spread <= 1e-6 * max(1.0, abs(mean)):
        if abs(mean) < 1e-12:
            return {"kind": "normal", "std": _BIAS_SPREAD}
        return {"kind": "normal", "mean": _short(mean), "std": _short(_IDENTITY_SPREAD * abs(mean))}
    if abs(mean) > 0.5 * spread and value.numel() > 8:
        return {"kind": "normal", "mean": _short(mean), "std": _short(spread)}
    return {"kind": "normal", "std": _short(spread * (1.0 if deep else _MATRIX_GAIN))}


def _short(value: float) -> float:
    return float(f"{value:.3g}")
