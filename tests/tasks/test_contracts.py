"""What a contract says and what the task's code does are the same."""

from __future__ import annotations

import inspect
import json

import torch

from kcbench.domain.contract import Contract
from kcbench.oracle.module import task_module
from kcbench.tasks import load_task

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
    assert set(task.contract.axes) == constants


def test_arguments_are_those_of_the_code(task_id: str) -> None:
    task = load_task(task_id)
    contract, sizes = task.contract, task.contract.legacy_sizes()
    module = task_module(task, sizes)
    assert [item.name for item in contract.inputs] == [*inspect.signature(module.Model.forward).parameters][1:]
    assert tuple(module.get_init_inputs()) == contract.init_args(sizes)
    given = module.get_inputs()
    assert [tuple(tensor.shape) for tensor in given] == [contract.shape(item, sizes) for item in contract.inputs]
    for tensor, item in zip(given, contract.inputs, strict=True):
        assert tensor.dtype == (torch.float32 if item.kind == "float" else torch.int64)


def test_parameters_are_those_of_the_model_and_never_the_identity(task_id: str) -> None:
    task = load_task(task_id)
    model = task_module(task, None).Model(*task.contract.init_args(task.contract.sizes()))
    assert set(task.contract.parameters) == set(model.state_dict())
    assert all(recipe["kind"] == "normal" and recipe["std"] >= 0.1 for recipe in task.contract.parameters.values())


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
    assert len(set(sizes.values())) == len(sizes)
    assert all(torch.Size(contract.shape(item, sizes)).numel() <= 60_000 for item in contract.inputs)
    if contract.reduction is not None:
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
    assert 10e6 < total < 1e9


def test_what_is_not_default_has_a_reason(task_id: str) -> None:
    contract = load_task(task_id).contract
    for clause, default in DEFAULTS.items():
        if getattr(contract, clause) != default:
            assert clause in contract.reasons, clause


def test_what_is_not_testable_has_a_reason(task_id: str) -> None:
    contract = load_task(task_id).contract
    kinds = {item.kind for item in contract.designed}
    assert "absorption" in kinds or "PRC-02" in contract.reasons
    assert "identity" in kinds or "PRC-01" in contract.reasons
    if contract.reduction is None:
        assert {"ORD-01", "ORD-03"} <= set(contract.reasons)
    elif not contract.reduction.permutable:
        assert "ORD-01" in contract.reasons
    elif contract.reduction.linear:
        assert {"absorption", "identity", "integers", "cancellation"} <= kinds
