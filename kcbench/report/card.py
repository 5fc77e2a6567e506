"""Task card: what a kernel's author wants to know about a task, in words, for any medium."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kcbench.domain.check import class_in_words
from kcbench.domain.contract import Axis, Contract, Input
from kcbench.domain.probe import Recipe
from kcbench.domain.task import Task
from kcbench.report.catalog import GATES

_DESIGNED_GATES = {"absorption": "PRC-02", "identity": "PRC-01", "integers": "CMP-01, ORD-01", "cancellation": "ORD-03"}


@dataclass(frozen=True)
class Section:
    """One table of a card."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class TaskCard:
    """A task and its contract in words."""

    id: str
    title: str
    category: str
    formula: str
    summary: str
    """One sentence."""
    relations: tuple[str, ...]
    """What it has to do with other tasks and benchmarks, a sentence each."""
    example: str
    """Python that calls a kernel at gate sizes."""
    sections: tuple[Section, ...]
    """Those that have rows."""
    gates: tuple[tuple[str, str, str], ...]
    """Id and name, what the gate asks that a kernel does, and why it has no question here: empty where it has one."""
    notes: tuple[tuple[str, str], ...]
    """Clause and why it is as it is, or what to mind."""
    code: str


def task_card(task: Task) -> TaskCard:
    """The card of a task."""
    contract = task.contract
    sections = (
        Section(
            "Inputs", ("name", "shape", "values"), tuple((item.name, _shape(item), _values(item)) for item in contract.inputs)
        ),
        Section(
            "Parameters", ("name", "redrawn as"), tuple((name, _recipe(recipe)) for name, recipe in contract.parameters.items())
        ),
        Section(
            "Axes",
            ("name", "gate size", "legacy size", "class"),
            tuple(_axis(name, axis) for name, axis in contract.axes.items()),
        ),
        Section("What a kernel owes", ("clause", "owed", "gates"), tuple(_clauses(contract))),
    )
    # Why a gate is not asked stands beside the gate.
    notes = tuple((clause, reason) for clause, reason in contract.reasons.items() if clause not in _unasked(contract))
    return TaskCard(
        task.id,
        task.title,
        task.category,
        task.formula,
        task.summary,
        tuple(_relations(contract)),
        example(contract),
        tuple(section for section in sections if section.rows),
        tuple((f"{gate.id} {gate.title}", gate.question, contract.unasked(gate.id)) for gate in GATES),
        notes,
        task.code,
    )


def example(contract: Contract) -> str:
    """Python that constructs a kernel and calls it at gate sizes."""
    sizes = contract.sizes()
    lines = ["import torch", ""]
    for number, item in enumerate(contract.inputs):
        shape = ", ".join(map(str, contract.shape(item, sizes)))
        plain = item.recipe == {"kind": "normal"}
        if item.kind == "scalar":
            value, note = repr(item.value), ""
        elif item.kind == "index":
            bound = sizes[item.bound] if isinstance(item.bound, str) else item.bound
            value, note = f"torch.randint(0, {bound}, ({shape},))", ""
        elif item.kind == "given" or not plain:
            value, note = (
                f"get_inputs()[{number}]",
                f"  # [{shape}]" + ("" if item.kind == "given" else f", {_recipe(item.recipe)}"),
            )
        else:
            value, note = f"torch.randn({shape})", ""
        lines.append(f"{item.name} = {value}{note}")
    arguments = ", ".join(repr(value) for value in contract.init_args(sizes))
    lines.append(f"y = ModelNew({arguments})({', '.join(item.name for item in contract.inputs)})")
    return "\n".join(lines)


def _relations(contract: Contract) -> Iterator[str]:
    if contract.kernelbench is not None:
        level, number = contract.kernelbench
        yield f"Submissions for problem {number} of KernelBench's level {level} run against this task unchanged."
    if contract.repairs is not None:
        yield f"Mends {contract.repairs}, whose problem cannot tell a right kernel from a wrong one."


def _unasked(contract: Contract) -> set[str]:
    return {gate.id for gate in GATES if contract.unasked(gate.id)}


def _shape(item: Input) -> str:
    return "scalar" if item.kind == "scalar" else f"({', '.join(map(str, item.shape))})"


def _values(item: Input) -> str:
    if item.kind == "scalar":
        return str(item.value)
    if item.kind == "index":
        return f"int64 in [0, {item.bound})"
    if item.kind == "given":
        return "as get_inputs makes them"
    return _recipe(item.recipe) + (
        "" if item.domain == "recipe" else f"; the gates vary distribution, sign and scale up to {item.max_scale:g}"
    )


def _recipe(recipe: Recipe) -> str:
    if recipe["kind"] == "problem":
        return "as get_inputs makes them"
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
    names = [*gradient.inputs, *gradient.parameters]
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f"{'required' if gradient.required else 'right if there is one'}, for {shown}"


def _reduction(contract: Contract) -> str:
    reduction = contract.reduction
    if reduction is None:
        return "none"
    length = contract.reduction_length(contract.sizes())
    traits = [text for held, text in ((reduction.linear, "linear"), (reduction.permutable, "any order")) if held]
    return f"over {' * '.join(map(str, reduction.length))} (N = {length} at gate sizes)" + (
        f"; {', '.join(traits)}" if traits else ""
    )
