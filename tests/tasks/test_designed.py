"""Designed probes: their truth is exact in float32 in any order, eager gives it, and the fault they are made for changes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.domain.contract import Designed
from kcbench.numerics.formats import round_to
from kcbench.tasks import load_task
from tests.chosen import ALL, CORE

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]),
]


def designed(*kinds: str) -> Any:
    """All designed probes of the shipped contracts, or those of some kinds."""
    cases = [
        pytest.param(task_id, item, id=f"{task_id}-{item.kind}-{number}", marks=() if task_id in CORE else [pytest.mark.slow])
        for task_id in ALL
        for number, item in enumerate(load_task(task_id).contract.designed)
        if not kinds or item.kind in kinds
    ]
    return pytest.mark.parametrize(("task_id", "item"), cases)


def make(draw: Callable[..., Any], task_id: str, item: Designed, dtype: str, seed: int = 0) -> Any:
    return draw(task_id, axes=item.axes, dtype=dtype, inputs=item.inputs, parameters=item.parameters, stream=f"designed {seed}")


def dtypes(task_id: str, item: Designed) -> tuple[str, ...]:
    return item.dtypes or load_task(task_id).contract.dtypes


def shuffled(case: Any, seed: int) -> Any:
    """The same case with its operands permuted together along the reduced axis."""
    reduction = case.contract.reduction
    generator = torch.Generator().manual_seed(seed)
    inputs, state, order = dict(case.inputs), dict(case.state), None
    for name, dim in reduction.operands:
        where, key = (state, name.removeprefix("parameter:")) if name.startswith("parameter:") else (inputs, name)
        order = torch.randperm(where[key].shape[dim], generator=generator) if order is None else order
        where[key] = where[key].index_select(dim, order)
    return dataclasses.replace(case, inputs=inputs, state=state)


@pytest.fixture
def as_in_a_worker() -> Iterator[None]:
    """Torch's own products and convolutions as workers make them under the contract's precision `ieee`.

    Otherwise cuDNN rounds operands to tf32, and cuBLAS adds split sums of 16-bit products in 16 bits.
    """
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_fp16_reduced_precision_reduction, products.allow_bf16_reduced_precision_reduction
    tf32 = products.allow_tf32, convolutions.allow_tf32
    products.allow_fp16_reduced_precision_reduction = products.allow_bf16_reduced_precision_reduction = False
    products.allow_tf32 = convolutions.allow_tf32 = False
    yield
    products.allow_fp16_reduced_precision_reduction, products.allow_bf16_reduced_precision_reduction = before
    products.allow_tf32, convolutions.allow_tf32 = tf32


@pytest.mark.usefixtures("as_in_a_worker")
@pytest.mark.parametrize("device", DEVICES)
@designed()
def test_eager_gives_the_exact_result_rounded_once(task_id: str, item: Designed, device: str, draw: Callable[..., Any]) -> None:
    for dtype in dtypes(task_id, item):
        for seed in range(3):
            case = make(draw, task_id, item, dtype, seed)
            for got, truth in zip(case.eagers(device=device), case.truths(), strict=True):
                if truth.is_floating_point():
                    assert str(got.dtype) == f"torch.{dtype}"
                    assert torch.equal(got.double(), round_to(truth, dtype)), dtype
                else:
                    assert torch.equal(got, truth)


@designed()
def test_the_truth_is_exact_in_float32_in_any_order(task_id: str, item: Designed, draw: Callable[..., Any]) -> None:
    for dtype in dtypes(task_id, item):
        case = make(draw, task_id, item, dtype)
        exact = case.truth()
        if not exact.is_floating_point():
            assert torch.equal(case.truth(torch.float32), exact)
            assert torch.equal(case.eager(torch.float32), exact)
            continue
        want = round_to(exact, "float32")
        assert torch.allclose(want, exact, rtol=1e-12, atol=1e-30), "more bits than float32 has"
        assert torch.equal(case.truth(torch.float32).double(), want)
        assert torch.equal(case.eager(torch.float32).double(), want)
        reduction = case.contract.reduction
        if reduction is not None and reduction.permutable and reduction.output_dim is None:
            for seed in range(4):
                moved = shuffled(case, seed)
                assert torch.equal(moved.eager(torch.float32).double(), want)
                assert torch.equal(moved.truth(torch.float32).double(), want)


def tf32(tensor: Tensor) -> Tensor:
    """Round float32 to ten fraction bits, to nearest even."""
    bits = tensor.view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


@designed("identity")
def test_an_identity_probe_shows_tf32(task_id: str, item: Designed, draw: Callable[..., Any]) -> None:
    case = make(draw, task_id, item, "float32")
    narrow = dataclasses.replace(
        case,
        inputs={name: tf32(t) if t.is_floating_point() else t for name, t in case.inputs.items()},
        state={name: tf32(t) for name, t in case.state.items()},
    )
    assert float((narrow.truth() != case.truth()).double().mean()) > 0.05


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
@designed("absorption")
def test_an_absorption_probe_shows_a_narrow_accumulator(
    task_id: str, item: Designed, narrow: str, draw: Callable[..., Any]
) -> None:
    """Sums of blocks are exact here; only what carries from block to block is narrow."""
    case = make(draw, task_id, item, "float32")
    recipes = {**item.inputs, **item.parameters}
    operand = next(name for name, recipe in recipes.items() if recipe["kind"] == "absorption")
    terms = {**case.inputs, **case.state}[operand].movedim(recipes[operand]["dim"], 0).double()
    carried, total = torch.zeros_like(terms[0]), terms.sum(dim=0)
    for block in terms.split(16 if len(terms) < 128 else 64):
        carried = round_to(carried + block.sum(dim=0), narrow)
    assert float((carried != round_to(total, narrow)).double().mean()) > 0.3
