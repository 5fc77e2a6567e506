"""Whether a contract makes sense: what a schema cannot ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcbench.domain.contract import Axis, Contract, factors
from kcbench.domain.recipes import Complaint, recipe_problems


def contract_problems(data: Mapping[str, Any]) -> Iterator[Complaint]:
    """What is wrong with a contract that ``contract.schema.json`` accepts.

    Args:
        data: The contract as read from JSON.

    Yields:
        A JSON path below the contract (starting with a dot) and a message.
    """
    contract = Contract.from_json(data)
    for check in (_axes, _init, _inputs, _parameters, _reduction, _designed, _gradient):
        yield from check(contract)


def _axes(contract: Contract) -> Iterator[Complaint]:
    for name, axis in contract.axes.items():
        path = f".axes.{name}"
        if axis.maximum is not None and axis.maximum < axis.minimum:
            yield f"{path}.maximum", f"expected at least minimum = {axis.minimum}, found {axis.maximum}"
            continue
        for use, size in (("gate", axis.gate), ("legacy", axis.legacy)):
            if not axis.admits(size):
                yield f"{path}.{use}", f"expected {class_in_words(axis)}, found {size}"


def class_in_words(axis: Axis) -> str:
    """The sizes that an axis admits, for example ``a size of at least 1 and at most 64, a multiple of 8``."""
    if axis.values:
        return f"one of the sizes {', '.join(map(str, axis.values))}"
    limit = "" if axis.maximum is None else f" and at most {axis.maximum}"
    return f"a size of at least {axis.minimum}{limit}" + (f", a multiple of {axis.multiple_of}" if axis.multiple_of > 1 else "")


def _known_axis(contract: Contract, name: Any, path: str) -> Iterator[Complaint]:
    for factor in factors(name) if isinstance(name, str) else ():
        if isinstance(factor, str) and factor not in contract.axes:
            yield path, f"expected an axis ({', '.join(contract.axes)}), found {factor!r}"


def _init(contract: Contract) -> Iterator[Complaint]:
    for number, argument in enumerate(contract.init):
        yield from _argument(contract, argument, f".init[{number}]")


def _argument(contract: Contract, argument: Any, path: str) -> Iterator[Complaint]:
    if isinstance(argument, Mapping) and "axis" in argument:
        yield from _known_axis(contract, argument["axis"], f"{path}.axis")
        return
    for number, item in enumerate(
        argument["tuple"] if isinstance(argument, Mapping) else argument if isinstance(argument, list) else ()
    ):
        yield from _argument(contract, item, f"{path}[{number}]")


def _inputs(contract: Contract) -> Iterator[Complaint]:
    names = [item.name for item in contract.inputs]
    for number, item in enumerate(contract.inputs):
        path = f".inputs[{number}]"
        if item.name in names[:number]:
            yield f"{path}.name", f"expected a name that no other input has, found {item.name!r} again"
        for place, size in enumerate(item.shape):
            yield from _known_axis(contract, size, f"{path}.shape[{place}]")
        if item.kind == "scalar":
            if item.shape:
                yield f"{path}.shape", f"expected [] for a scalar, found {list(item.shape)}"
            if item.value is None:
                yield path, "expected the key 'value' for a scalar, found none"
        elif item.kind == "index":
            if item.bound is None:
                yield path, "expected the key 'bound' for an index, found none"
            yield from _known_axis(contract, item.bound, f"{path}.bound")
        elif item.bound is not None:
            yield f"{path}.bound", f"expected a bound only for an index, found {item.bound!r} for a {item.kind}"
        if item.kind == "float":
            yield from recipe_problems(item.recipe, f"{path}.recipe", rank=len(item.shape))


def _parameters(contract: Contract) -> Iterator[Complaint]:
    for name, recipe in contract.parameters.items():
        yield from recipe_problems(recipe, f".parameters.{name}")


def _reduction(contract: Contract) -> Iterator[Complaint]:
    reduction = contract.reduction
    if reduction is None:
        return
    for number, factor in enumerate(reduction.length):
        yield from _known_axis(contract, factor, f".reduction.length[{number}]")
    for number, (name, dim) in enumerate(reduction.operands):
        path = f".reduction.operands[{number}]"
        if name.startswith("parameter:"):
            yield from _known(name.removeprefix("parameter:"), contract.parameters, f"{path}[0]", "a parameter")
            continue
        yield from _known(name, _input_names(contract), f"{path}[0]", "an input")
        rank = next((len(item.shape) for item in contract.inputs if item.name == name), None)
        if rank is not None and not -rank <= dim < rank:
            yield f"{path}[1]", f"expected a dimension of {name}, which has {rank}, found {dim}"
    if reduction.output_dim is not None and not reduction.permutable:
        yield ".reduction.output_dim", "expected null where nothing may be permuted, found a dimension"


def _designed(contract: Contract) -> Iterator[Complaint]:
    for number, probe in enumerate(contract.designed):
        path = f".designed[{number}]"
        for name, recipe in probe.inputs.items():
            yield from _known(name, _input_names(contract), f"{path}.inputs.{name}", "an input")
            rank = next((len(item.shape) for item in contract.inputs if item.name == name), None)
            yield from recipe_problems(recipe, f"{path}.inputs.{name}", rank=rank)
        for name, recipe in probe.parameters.items():
            yield from _known(name, contract.parameters, f"{path}.parameters.{name}", "a parameter")
            yield from recipe_problems(recipe, f"{path}.parameters.{name}")
        for name, size in probe.axes.items():
            yield from _known_axis(contract, name, f"{path}.axes.{name}")
            if name in contract.axes and not contract.axes[name].admits(size):
                yield f"{path}.axes.{name}", f"expected {class_in_words(contract.axes[name])}, found {size}"
        for place, dtype in enumerate(probe.dtypes):
            yield from _known(dtype, contract.dtypes, f"{path}.dtypes[{place}]", "a dtype of the contract")


def _gradient(contract: Contract) -> Iterator[Complaint]:
    gradient = contract.gradient
    if gradient is None:
        return
    floats = [item.name for item in contract.inputs if item.kind == "float"]
    for number, name in enumerate(gradient.inputs):
        yield from _known(name, floats, f".gradient.inputs[{number}]", "a floating input")
    for number, name in enumerate(gradient.parameters):
        yield from _known(name, contract.parameters, f".gradient.parameters[{number}]", "a parameter")
    if not gradient.inputs and not gradient.parameters:
        yield ".gradient", "expected at least one input or parameter, found none"


def _input_names(contract: Contract) -> list[str]:
    return [item.name for item in contract.inputs]


def _known(name: str, known: Iterable[str], path: str, what: str) -> Iterator[Complaint]:
    choices = list(known)
    if name not in choices:
        yield path, f"expected {what} ({', '.join(choices) or 'there is none'}), found {name!r}"
