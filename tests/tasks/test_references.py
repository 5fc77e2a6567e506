"""References against the eager models in float64, against finite differences, and against other formulas."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.gates.base import real_inputs
from kcbench.numerics.formats import classes
from kcbench.oracle.eager import as_tuple
from kcbench.oracle.twin import widened
from kcbench.tasks import data_root, load_task
from tests.chosen import ALL, CORE, with_the_deep_as_studies
from tests.tasks.conftest import joined, reference
from tests.tasks.sizes import least_sizes, planned_sizes

SMALL = {  # sizes for finite differences, outside of the shape class where that is narrower than the formula
    "level1/relu": {"batch_size": 2, "dim": 5},
    "level1/gelu": {"batch_size": 2, "dim": 5},
    "level1/softmax": {"batch_size": 2, "dim": 5},
    "level1/logsumexp": {"batch_size": 2, "dim": 5},
    "level1/layernorm": {"batch_size": 2, "seq_len": 1, "dim": 5},
    "level1/rmsnorm": {"batch_size": 2, "dim": 5},
    "level1/matmul": {"M": 2, "K": 4, "N": 3},
    "level1/batched_matmul": {"batch_size": 2, "M": 2, "K": 3, "N": 2},
    "level1/conv2d": {"batch_size": 1, "in_channels": 2, "out_channels": 2, "height": 3, "width": 4},
    "level1/maxpool2d": {"batch_size": 1, "channels": 2, "height": 4, "width": 5},
    "level1/sum_axis": {"batch_size": 2, "dim1": 4, "dim2": 3},
    "level1/cumsum": {"batch_size": 2, "dim": 7},
    "level1/cross_entropy": {"batch_size": 3, "num_classes": 4},
    "level1/attention": {"batch_size": 1, "num_heads": 2, "seq_len": 3, "head_dim": 2},
    "level2/linear_bias_gelu": {"batch_size": 2, "in_features": 4, "out_features": 3},
    "level4/gated_delta_rule": {"batch_size": 1, "seq_len": 4, "num_heads": 2, "key_dim": 3, "value_dim": 2},
}
WITH_MAGNITUDE = {
    "attention",
    "layernorm",
    "rmsnorm",
    "matmul",
    "batched_matmul",
    "conv2d",
    "sum_axis",
    "cumsum",
    "linear_bias_gelu",
}


COMPOSITE = re.compile(
    r"conv|norm|pool|softmax|softplus|sigmoid|gelu|silu|selu|celu|elu|mish|hardtanh|hardswish|hardshrink|lstm|gru|attention|linear"
    r"|cross_entropy|_loss|_div|logsumexp|logcumsumexp|cumsum|cumprod|std|var|layer"
)
"""Operations that a reference writes out, or takes from :mod:`kcbench.formulas`."""


@pytest.mark.parametrize("name", [task for task in ALL if task not in CORE])
def test_it_calls_no_operation_that_does_all_of_it(name: str) -> None:
    source = (data_root() / "references" / f"{name}.py").read_text()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("torch", "F", "nn", "linalg")
        ):
            assert not COMPOSITE.search(node.attr), ast.unparse(node)


VAST = 1 << 22
"""Parameters from which an evaluation takes seconds: such networks are tried at one size, with one draw, on a few of them."""


def vast(case: Any) -> bool:
    return sum(value.numel() for value in case.state.values()) > VAST


def shapes(task_id: str) -> list[dict[str, int]]:
    planned = planned_sizes(load_task(task_id).contract)
    if task_id in CORE:
        return [*planned, SMALL[task_id]]
    return [{}, planned[0], planned[len(planned) // 2]]


def accuracy(task_id: str) -> float:
    """Relative: what the reference states, for networks deep enough to multiply the rounding of float64."""
    return float(getattr(reference(task_id), "ACCURACY", 1e-12))


def rms(tensor: Tensor) -> float:
    return float(tensor.square().mean().sqrt()) if tensor.numel() else 0.0


def assert_equal(got: Tensor, want: Tensor, tolerance: float = 1e-12, size: float = 0.0) -> None:
    """Equal but for rounding, which is relative to the result, or to the size of what it is made of."""
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if not got.is_floating_point():
        assert torch.equal(got, want)
        return
    assert got.dtype == torch.float64
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * max(rms(want), size))


def assert_agree(case: Any) -> None:
    """Reference and model agree on every output."""
    truths = case.truths()
    # In GELU's lower tail, say, eager takes a difference from 1, and what is left has fewer digits than the reference gives.
    twin = getattr(case.reference, "magnitude", None)
    sizes = truths if twin is None else as_tuple(twin(*case.args(), params=case.states(), init=case.init))
    for got, want, size in zip(truths, case.eagers(), sizes, strict=True):
        assert_equal(got, want, accuracy(case.task.id), rms(size) if size.is_floating_point() else 0.0)


def test_it_equals_the_model_in_float64(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    if contract.random:
        pytest.skip("the model draws random numbers: there is no one answer")
    for number, axes in enumerate(shapes(task_id)):
        for gain in (1.0, 3.0):
            inputs = {name: {"kind": "normal", "gain": gain} for name in real_inputs(contract)}
            case = draw(task_id, axes=axes, inputs=inputs, stream=f"shape {number}")
            assert_agree(case)
            if vast(case):
                return


def test_it_handles_what_is_empty(task_id: str, draw: Callable[..., Any]) -> None:
    for name, axis in load_task(task_id).contract.axes.items():
        if axis.minimum == 0:
            assert_agree(draw(task_id, axes={name: 0}))


def some(case: Any) -> list[str]:
    """Parameters whose gradient is looked at; at most five of many, and one of a vast network's hundreds."""
    names = [name for name in case.contract.gradient.parameters if name in case.state]
    if vast(case):
        return names[-1:]
    return names if len(names) <= 5 else [names[i * (len(names) - 1) // 4] for i in range(5)]


def vjp_inputs(case: Any) -> tuple[tuple[Tensor, ...], Callable[..., Tensor]]:
    """Leaves whose gradient the contract names, and the reference as a function of them."""
    gradient = case.contract.gradient
    args = dict(zip(case.inputs, case.args(), strict=True))
    state = case.states()
    parameters = some(case)
    leaves = tuple(
        value.clone().requires_grad_(True)
        for value in (*(args[name] for name in gradient.inputs), *(state[name] for name in parameters))
    )

    def function(*values: Tensor) -> Tensor:
        mine = {**args, **dict(zip(gradient.inputs, values, strict=False))}
        theirs = {**state, **dict(zip(parameters, values[len(gradient.inputs) :], strict=True))}
        return joined(as_tuple(case.reference.forward(*mine.values(), params=theirs, init=case.init)))

    return leaves, function


def away(task_id: str) -> dict[str, Any]:
    gradient = load_task(task_id).contract.gradient
    return {name: {"kind": "away", "kinks": list(gradient.kinks)} for name in gradient.inputs if gradient.kinks}


@pytest.mark.parametrize("task_id", with_the_deep_as_studies())
def test_its_gradient_is_that_of_finite_differences(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    if contract.gradient is None:
        pytest.skip("no gradient is owed")
    sizes = SMALL[task_id] if task_id in CORE else least_sizes(contract)
    leaves, function = vjp_inputs(draw(task_id, axes=sizes, inputs=away(task_id)))
    # Along random directions for the larger ones: the whole Jacobian of a network takes an evaluation for each input.
    assert torch.autograd.gradcheck(function, leaves, fast_mode=task_id not in CORE)


@pytest.mark.parametrize("task_id", with_the_deep_as_studies())
def test_its_gradient_is_that_of_the_model(task_id: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    if contract.gradient is None:
        pytest.skip("no gradient is owed")
    case = draw(task_id, inputs=away(task_id))
    gradient = case.contract.gradient
    leaves, function = vjp_inputs(case)
    out = function(*leaves)
    cotangent = (
        torch.linspace(-1, 1, out.numel(), dtype=torch.float64).reshape(out.shape) if out.numel() > 1 else torch.ones_like(out)
    )
    mine = torch.autograd.grad(out, leaves, cotangent)

    model = case.model(torch.float64)
    args = dict(zip(case.inputs, case.args(), strict=True))
    for name in gradient.inputs:
        args[name].requires_grad_(True)
    parameters = dict(model.named_parameters())
    with widened():
        out = joined(as_tuple(model(*args.values())))
    theirs = torch.autograd.grad(
        out,
        [
            *(args[name] for name in gradient.inputs),
            *(parameters[name] for name in some(case)),
        ],
        cotangent,
    )
    # A gradient that is zero but for rounding, as that of a bias before a normalisation, is measured by the others.
    largest = max((float(want.square().mean().sqrt()) for want in theirs if want.numel()), default=0.0)
    for got, want in zip(mine, theirs, strict=True):
        tolerance = 10 * accuracy(task_id)
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * largest)


def test_the_magnitude_bounds_the_result(task_id: str, draw: Callable[..., Any]) -> None:
    for family in (
        {"kind": "normal"},
        {"kind": "lognormal"},
        {"kind": "constant", "value": 0.75},
        {"kind": "cancellation", "dim": 1},
    ):
        twin = getattr(reference(task_id), "magnitude", None)
        if task_id in CORE:
            assert (twin is not None) == (task_id.split("/")[1] in WITH_MAGNITUDE)
        if twin is None:
            return
        # A cancellation needs an axis to cancel along.
        real = [
            name
            for name in real_inputs(load_task(task_id).contract)
            if family["kind"] != "cancellation" or len(load_task(task_id).contract.input(name).shape) > 1
        ]
        case = draw(task_id, inputs=dict.fromkeys(real, family))
        sizes = as_tuple(twin(*case.args(), params=case.states(), init=case.init))
        for size, truth in zip(sizes, case.truths(), strict=True):
            assert size.shape == truth.shape
            assert bool((size * (1 + 1e-12) >= truth.abs()).all())


POISONS = {"nan": ["nan"], "inf": ["inf"], "-inf": ["-inf"], "both": ["inf", "-inf"]}


@pytest.mark.parametrize("poison", POISONS)
def test_non_finite_values_go_where_the_model_sends_them(task_id: str, poison: str, draw: Callable[..., Any]) -> None:
    contract = load_task(task_id).contract
    if "EXC-01" in contract.untestable:
        pytest.skip(contract.untestable["EXC-01"])
    for item in contract.inputs:
        if item.kind != "float" or item.structured:
            continue
        shape = contract.shape(item, contract.sizes())
        first, last = [0] * len(shape), [size - 1 for size in shape]
        values = POISONS[poison]
        second = [*first[:-1], min(1, last[-1])]
        cells = [first, [size // 2 for size in shape], last]
        # A network of many layers mixes everything with everything: one place for each poison.
        for cell in [cells[list(POISONS).index(poison) % 3]] if task_id.startswith("level3/") else cells:
            at = [cell, second][: len(values)]
            case = draw(task_id, inputs={item.name: {"kind": "poison", "base": item.recipe, "at": at, "values": values}})
            if vast(case) and poison != "nan":
                continue
            got, want = classes(case.truth()), classes(case.eager())
            if contract.nonfinite == "exact":
                assert torch.equal(got, want), (item.name, cell)
            else:
                # The model may send them further: through a convolution by transform, or the products of a whole chunk.
                assert bool((want != 0)[got != 0].all()), (item.name, cell)


def test_whole_rows_of_infinity(draw: Callable[..., Any]) -> None:
    for value, expected in (("-inf", -math.inf), ("inf", math.inf)):
        rows = {"kind": "poison", "base": {"kind": "normal"}, "at": [[1, j] for j in range(5)], "value": value}
        case = draw("level1/logsumexp", axes={"batch_size": 3, "dim": 5}, inputs={"x": rows})
        assert case.truth()[1] == expected
        assert torch.equal(classes(case.truth()), classes(case.eager()))
        case = draw("level1/softmax", axes={"batch_size": 3, "dim": 5}, inputs={"x": rows})
        assert bool(case.truth()[1].isnan().all())
        assert torch.equal(classes(case.truth()), classes(case.eager()))


def chunkwise(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, chunk: int) -> Tensor:
    """The gated delta rule by chunks of tokens, with the inverse of a unit triangular matrix per chunk."""
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))  # [batch, head, time, dim]
    g, beta = g.transpose(1, 2), beta.transpose(1, 2)[..., None]
    state = v.new_zeros(*k.shape[:2], k.shape[3], v.shape[3])
    outputs = []
    for start in range(0, k.shape[2], chunk):
        part = slice(start, min(start + chunk, k.shape[2]))
        qs, ks, vs, bs = q[:, :, part] / math.sqrt(k.shape[3]), k[:, :, part], v[:, :, part], beta[:, :, part]
        total = g[:, :, part].cumsum(2)[..., None]
        ratio = (total - total.transpose(2, 3)).tril().exp().tril()
        factor = torch.eye(ks.shape[2], dtype=v.dtype) + (bs * (ks @ ks.mT) * ratio).tril(-1)
        update = torch.linalg.solve_triangular(factor, bs * (vs - total.exp() * (ks @ state)), upper=False, unitriangular=True)
        outputs.append(total.exp() * (qs @ state) + (qs @ ks.mT * ratio) @ update)
        last = total[:, :, -1:]
        state = last.exp() * state + ((last - total).exp() * ks).mT @ update
    return torch.cat(outputs, dim=2).transpose(1, 2)


@pytest.mark.parametrize("chunk", [1, 16, 64])
def test_the_gated_delta_rule_equals_its_chunkwise_form(chunk: int, draw: Callable[..., Any]) -> None:
    case = draw("level4/gated_delta_rule")
    assert_equal(case.truth(), chunkwise(*case.args(), chunk))


def test_the_running_sum_is_a_loop(draw: Callable[..., Any]) -> None:
    case = draw("level1/cumsum", axes={"batch_size": 2, "dim": 37})
    total, rows = torch.zeros(2, dtype=torch.float64), []
    for column in case.args()[0].T:
        total = total + column
        rows.append(total)
    assert_equal(case.truth(), torch.stack(rows, dim=1))


def test_the_largest_of_a_window_is_a_loop(draw: Callable[..., Any]) -> None:
    case = draw(
        "level1/maxpool2d",
        axes={"batch_size": 1, "channels": 2, "height": 5, "width": 6},
        inputs={"x": {"kind": "uniform", "low": -2, "high": -1}},
    )
    (x,) = case.args()
    for h in range(3):
        for w in range(3):
            window = x[:, :, max(2 * h - 1, 0) : 2 * h + 2, max(2 * w - 1, 0) : 2 * w + 2]
            assert torch.equal(case.truth()[:, :, h, w], window.amax(dim=(2, 3)))


def test_every_task_of_the_core_has_small_sizes() -> None:
    assert set(SMALL) == set(CORE)
