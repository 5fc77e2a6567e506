"""A task and its contract in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kcbench.domain.check import class_in_words
from kcbench.domain.contract import Axis, Contract, Input
from kcbench.domain.probe import Recipe
from kcbench.domain.task import Task

_DESIGNED_GATES = {"absorption": "PRC-02", "identity": "PRC-01", "integers": "CMP-01, ORD-01", "cancellation": "ORD-03"}


def describe(task: Task) -> RenderableType:
    """What a kernel's author wants to know about a task."""
    contract = task.contract
    parts: list[RenderableType] = [Text(f"{task.id}  {task.title} ({task.category})", "bold"), Text(f"  {task.formula}")]
    inputs = [(item.name, _shape(item), _values(item)) for item in contract.inputs]
    axes = [_axis(name, axis) for name, axis in contract.axes.items()]
    for title, columns, rows in (
        ("Inputs", ("name", "shape", "values"), inputs),
        ("Parameters", ("name", "redrawn as"), [(name, _recipe(recipe)) for name, recipe in contract.parameters.items()]),
        ("Axes", ("name", "gate size", "legacy size", "class"), axes),
        ("What a kernel owes", ("clause", "owed", "gates"), list(_clauses(contract))),
    ):
        if rows:
            parts += [Text(f"\n{title}", "bold"), _table(columns, rows)]
    if contract.reasons:
        parts.append(Text("\nWhy", "bold"))
        parts += [Padding(Text(f"{name}: {reason}"), (0, 0, 0, 2)) for name, reason in contract.reasons.items()]
    return Group(*parts)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _shape(item: Input) -> str:
    return "scalar" if item.kind == "scalar" else f"({', '.join(map(str, item.shape))})"


def _values(item: Input) -> str:
    if item.kind == "scalar":
        return str(item.value)
    if item.kind == "index":
        return f"int64 in [0, {item.bound})"
    return _recipe(item.recipe) + (
        "" if item.domain == "recipe" else f"; the gates vary distribution, sign and scale up to {item.max_scale:g}"
    )


def _recipe(recipe: Recipe) -> str:
    options = ", ".join(f"{name}={_option(value)}" for name, value in recipe.items() if name != "kind")
    return f"{recipe['kind']}({options})" if options else str(recipe["kind"])


def _option(value: Any) -> str:
    return _recipe(value) if isinstance(value, dict) and "kind" in value else str(value)


def _axis(name: str, axis: Axis) -> tuple[str, ...]:
    return name, str(axis.gate), str(axis.legacy), class_in_words(axis) if axis.varies else "fixed"


def _clauses(contract: Contract) -> Iterator[tuple[str, str, str]]:
    yield "dtypes", ", ".join(contract.dtypes), "PRC-01"
    regime = {"ieee": "float32 operands are not narrowed", "tf32": "float32 operands may be rounded to tf32"}
    yield "precision", f"{contract.precision}: {regime[contract.precision]}", "PRC-01"
    reach = {"exact": "NaN and infinities reach exactly", "at_least": "NaN and infinities reach at least"}
    yield "nonfinite", f"{reach[contract.nonfinite]} the outputs that they reach in float64", "EXC-01"
    subnormals = {"preserve": "kept", "flush": "flushed to zero", "any": "either kept or flushed, consistently"}
    yield "subnormals", subnormals[contract.subnormals], "EXC-02"
    yield (
        "deterministic",
        "equal calls give equal bytes" if contract.deterministic else "runs may differ within the bound",
        "ORD-02",
    )
    yield "aliasing", "outputs may be views of inputs" if contract.view else "outputs have storage of their own", "ORD-02"
    yield "gradient", _gradient(contract), "CMP-02"
    yield "reduction", _reduction(contract), "ORD-01, ORD-03"
    for probe in contract.designed:
        where = f" in {', '.join(probe.dtypes)}" if probe.dtypes else ""
        sizes = f" at {', '.join(f'{name}={size}' for name, size in probe.axes.items())}" if probe.axes else ""
        yield f"designed: {probe.kind}", f"exact result{where}{sizes}", _DESIGNED_GATES[probe.kind]
    yield "memory", f"at most {contract.memory_factor:g} times the bytes of inputs, parameters and outputs", "RES-01"


def _gradient(contract: Contract) -> str:
    gradient = contract.gradient
    if gradient is None:
        return "none is defined"
    names = ", ".join((*gradient.inputs, *gradient.parameters))
    return f"{'required' if gradient.required else 'right if there is one'}, for {names}"


def _reduction(contract: Contract) -> str:
    reduction = contract.reduction
    if reduction is None:
        return "none"
    length = contract.reduction_length(contract.sizes())
    traits = [text for held, text in ((reduction.linear, "linear"), (reduction.permutable, "any order")) if held]
    return f"over {' * '.join(map(str, reduction.length))} (N = {length} at gate sizes)" + (
        f"; {', '.join(traits)}" if traits else ""
    )
