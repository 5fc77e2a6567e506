"""The eager models in every dtype and at the edges of the shape class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from kcbench.tasks import load_task


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_it_runs_in_every_dtype(task_id: str, dtype: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    assert dtype == "float64" or dtype in contract.dtypes
    case = draw(task_id, dtype=dtype)
    got, want = case.eager(), case.truth()
    assert got.dtype == getattr(torch, dtype)
    assert got.shape == want.shape
    assert bool(got.isfinite().all())
    error = (got.double() - want).abs().max() / want.abs().max()
    assert float(error) < {"float64": 1e-13, "float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}[dtype]


def test_it_runs_at_its_least_sizes(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    least = {name: axis.values[0] if axis.values else max(axis.minimum, 1) for name, axis in contract.axes.items()}
    for dtype in contract.dtypes:
        case = draw(task_id, dtype=dtype, axes=least)
        assert bool(case.eager().isfinite().all())


def test_it_runs_on_what_is_empty(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    for name, axis in contract.axes.items():
        if axis.minimum == 0:
            for dtype in contract.dtypes:
                case = draw(task_id, dtype=dtype, axes={name: 0})
                assert case.eager().shape == case.truth().shape


def test_equal_calls_give_equal_bytes(task_id: str, draw: Callable[..., Any]) -> None:
    case = draw(task_id, dtype="float32")
    assert torch.equal(case.eager(), case.eager())


def test_inputs_stay_as_they_are(task_id: str, draw: Callable[..., Any]) -> None:
    case = draw(task_id, dtype="float32")
    before = {name: tensor.clone() for name, tensor in case.inputs.items()}
    out = case.eager()
    assert all(torch.equal(before[name], tensor) for name, tensor in case.inputs.items())
    assert out.data_ptr() not in {tensor.data_ptr() for tensor in case.inputs.values()}
