"""The eager models in every dtype and at the edges of the shape class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kcbench.oracle.eager import as_tuple
from kcbench.tasks import load_task
from tests.chosen import CORE
from tests.tasks.sizes import least_sizes


def test_it_runs_in_every_dtype(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    for dtype in contract.dtypes:
        case = draw(task_id, dtype=dtype)
        for got, want in zip(case.eagers(), case.truths(), strict=True):
            assert got.dtype == (getattr(torch, dtype) if want.is_floating_point() else want.dtype)
            assert got.shape == want.shape
            assert bool(got.isfinite().all())
            if not contract.random:
                error = (got.double() - want.double()).abs().max() / want.double().abs().max().clamp(min=1e-30)
                # A network of many layers multiplies the error of a single one.
                room = 1 if task_id in CORE else 1000
                assert float(error) < room * {"float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}[dtype], dtype


def test_it_runs_at_its_least_sizes(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    for dtype in contract.dtypes:
        case = draw(task_id, dtype=dtype, axes=least_sizes(contract))
        assert bool(case.eager().isfinite().all())


def test_it_runs_on_what_is_empty(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    for name, axis in contract.axes.items():
        if axis.minimum == 0:
            for dtype in contract.dtypes:
                case = draw(task_id, dtype=dtype, axes={name: 0})
                assert case.eager().shape == case.truth().shape


def test_equal_calls_give_equal_bytes_and_leave_their_inputs(task_id: str, draw: Callable[..., Any]) -> None:
    case = draw(task_id, dtype="float32")
    args = case.args(torch.float32)
    with torch.no_grad():
        outputs = as_tuple(case.model(torch.float32)(*args))
    tensors = [(now, before) for now, before in zip(args, case.inputs.values(), strict=True) if isinstance(now, torch.Tensor)]
    assert all(torch.equal(now, before) for now, before in tensors)
    if not case.contract.view:
        owned = {now.untyped_storage().data_ptr() for now, _ in tensors}
        assert not owned & {output.untyped_storage().data_ptr() for output in outputs}
    if case.contract.deterministic:
        assert all(torch.equal(again, output) for again, output in zip(case.eagers(), outputs, strict=True))
