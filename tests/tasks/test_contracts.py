"""What a contract says and what the task's code does are the same."""

from __future__ import annotations

import inspect
import json

import torch

from kcbench.domain.contract import Contract
from kcbench.oracle.module import task_module
from kcbench.tasks import load_task
from tests.chosen import ALL, CORE

DEFAULTS = {
    "nonfinite": "exact",
    "subnormals": "preserve",
    "deterministic": True,
    "view": False,
    "memory_factor": 4.0,
    "precision": "ieee",
}


def test_it_survives_json(task_id: str) -> None:
    contract = load_task(task_id).contract
    again = Contract.from_json(json.loads(json.dumps(contract.raw)))
    assert again == contract
    assert again.digest == contract.digest


def test_axes_are_the_constants_of_the_code(task_id: str) -> None:
    task = load_task(task_id)
    constants = {
        name for name, value in vars(task_module(task, None)).items() if isinstance(value, int) and not name.startswith("_")
    }
    if task_id in CORE:
        assert set(task.contract.axes) == constants
    else:  # Kernel sizes, strides and numbers of layers are constants of a problem, too, and do not vary.
        assert set(task.contract.axes) <= constants


def test_arguments_are_those_of_the_code(task_id: str) -> None:
    task = load_task(task_id)
    contract, sizes = task.contract, task.contract.legacy_sizes()
    module = task_module(task, sizes)
    arguments = [*inspect.signature(module.Model.forward).parameters.values()][1:]
    asked = len(contract.inputs)
    assert [item.name for item in contract.inputs] == [argument.name for argument in arguments[:asked]]
    assert all(argument.default is not inspect.Parameter.empty for argument in arguments[asked:]), "those are never given"
    assert tuple(module.get_init_inputs()) == contract.init_args(sizes)
    for value, item in zip(module.get_inputs(), contract.inputs, strict=True):
        if item.kind == "scalar":
            assert value == item.value
            continue
        assert tuple(value.shape) == contract.shape(item, sizes)
        if item.kind != "given":
            assert value.dtype == (torch.float32 if item.kind == "float" else torch.int64)


def test_parameters_are_those_of_the_model_and_never_the_identity(task_id: str) -> None:
    task = load_task(task_id)
    model = task_module(task, None).Model(*task.contract.init_args(task.contract.sizes()))
    state = {name for name, value in model.state_dict().items() if value.is_floating_point()}
    assert set(task.contract.parameters) == state
    for recipe in task.contract.parameters.values():
        assert recipe["kind"] != "constant"
        if task_id in CORE:
            assert recipe["kind"] == "normal" and recipe["std"] >= 0.1


def test_sizes_lie_in_the_class(task_id: str) -> None:
    task = load_task(task_id)
    module = task_module(task, None)
    for name, axis in task.contract.axes.items():
        assert axis.admits(axis.gate)
        assert axis.admits(axis.legacy)
        assert axis.admits(getattr(module, name)), "the task's own size"


def test_gate_sizes_are_small_and_tell_axes_apart(task_id: str) -> None:
    contract = load_task(task_id).contract
    sizes = contract.sizes()
    varying = [size for name, size in sizes.items() if contract.axes[name].varies]
    assert len(set(varying)) == len(varying)
    most = 60_000 if contract.kernelbench is None else 600_000
    assert all(torch.Size(contract.shape(item, sizes)).numel() <= most for item in contract.inputs)
    if contract.reduction is not None and task_id in CORE:
        length = contract.reduction_length(sizes)
        assert length >= 100
        assert length & (length - 1), "a power of two hides rounding"


def test_reduced_axes_have_one_size(task_id: str) -> None:
    """Operands are permuted together, so the axis must be equally long in all of them."""
    task = load_task(task_id)
    contract, sizes = task.contract, task.contract.sizes()
    if contract.reduction is None:
        return
    model = task_module(task, None).Model(*contract.init_args(sizes))
    lengths = set()
    for name, dim in contract.reduction.operands:
        if name.startswith("parameter:"):
            lengths.add(model.state_dict()[name.removeprefix("parameter:")].shape[dim])
        else:
            lengths.add(contract.shape(contract.input(name), sizes)[dim])
    assert len(lengths) == 1


def test_the_task_fits_a_gpu_with_room(task_id: str) -> None:
    task = load_task(task_id)
    contract = task.contract
    sizes = {name: getattr(task_module(task, None), name) for name in contract.axes}
    total = sum(4 * torch.Size(contract.shape(item, sizes)).numel() for item in contract.inputs)
    if contract.kernelbench is None:
        assert total < 1e9
        assert total > 10e6 or task_id not in CORE
    else:
        assert total < 40e9, "KernelBench's own sizes"


def test_what_is_not_default_has_a_reason(task_id: str) -> None:
    contract = load_task(task_id).contract
    for clause, default in DEFAULTS.items():
        if getattr(contract, clause) != default:
            assert clause in contract.reasons, clause


def test_what_is_not_testable_has_a_reason(task_id: str) -> None:
    contract = load_task(task_id).contract
    kinds = {item.kind for item in contract.designed}
    explained = {*contract.reasons, *contract.untestable}
    assert "absorption" in kinds or "PRC-02" in explained
    if contract.reduction is None:
        assert {"ORD-01", "ORD-03"} <= explained
    elif not contract.reduction.permutable:
        assert "ORD-01" in explained
    if contract.gradient is None:
        assert "CMP-02" in explained
    if task_id in CORE:
        assert "identity" in kinds or "PRC-01" in explained
        if contract.reduction is not None and contract.reduction.permutable and contract.reduction.linear:
            assert {"absorption", "identity", "integers", "cancellation"} <= kinds


def test_reasons_are_sentences(task_id: str) -> None:
    contract = load_task(task_id).contract
    for clause, reason in {**contract.reasons, **contract.untestable}.items():
        assert len(reason.split()) >= 4, clause
        assert reason.endswith("."), clause


def test_it_was_read_by_a_person(task_id: str) -> None:
    task = load_task(task_id)
    assert task.contract.provenance == "hand"
    assert task.formula != "what Model.forward computes"


def test_problems_of_kernelbench_are_all_there_once() -> None:
    contracts = [load_task(task).contract for task in ALL]
    places = [contract.kernelbench for contract in contracts if contract.kernelbench is not None]
    assert sorted(places) == [(level, number) for level, count in ((1, 100), (2, 100), (3, 50)) for number in range(1, count + 1)]
    for task, contract in zip(ALL, contracts, strict=True):
        if contract.kernelbench is not None:
            level, number = contract.kernelbench
            assert task.startswith(f"level{level}/{number:03d}_")
        if contract.repairs is not None:
            assert contract.kernelbench is None
            assert "degenerate" in load_task(contract.repairs).contract.reasons
