"""Structure found by experiment is there, and the probes that follow from it show the faults that they are made for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kcbench.domain.probe import Probe
from kcbench.infer.structure import Found, Laboratory, size_of
from kcbench.numerics.formats import decode, round_to
from kcbench.oracle import eager
from kcbench.oracle.oracle import TaskOracle
from tests.infer import problems
from tests.infer.conftest import laboratory
from tests.infer.problems import forward, layers, problem

SMALL = "batch = 8\nwidth = 12"
ONE = "return [torch.rand(batch, width)]"
TWO = "return [torch.rand(batch, width), torch.rand(batch, width)]"
ATTENTION = "return [torch.rand(6, 8), torch.rand(12, 8), torch.rand(12, 5)]"


def small(expression: str, inputs: str = ONE, arguments: str = "x", constants: str = SMALL) -> str:
    return problem(forward(expression, arguments), inputs, constants=constants)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (problems.MATMUL, True),
        (problems.LINEAR, True),
        (problems.SUM, True),
        (problems.LITERALS, True),
        (small("x * y + 3", TWO, "x, y"), True),
        (problems.SOFTMAX, False),
        (problems.RELU, False),
        (problems.CONV, False),
        (small("x * x"), False),
        (small("x.abs().sum()"), False),
        (small("torch.where(x > 2.5, x * 2, x)"), False),
        (small("x.argmax(1)"), False),
        (small("x / 0"), False),
    ],
)
def test_linearity(code: str, expected: bool) -> None:
    assert laboratory(code).multilinear() is expected


LINEAR_OPERANDS = (("x", 1), ("parameter:linear.weight", 1))


@pytest.mark.parametrize(
    ("code", "operands", "output_dim"),
    [
        (problems.SUM, (("x", 1),), None),
        (problems.MATMUL, (("A", 1), ("B", 0)), None),
        (problems.LINEAR, LINEAR_OPERANDS, None),
        (problems.SOFTMAX, (("x", 1),), 1),
        (problems.TUPLE, (("x", 1),), None),
        (problems.CONV, (("x", 1), ("parameter:conv.weight", 1)), None),
        (problems.TUPLE_ARGUMENT, (("x", 1), ("parameter:norm.weight", 0), ("parameter:norm.bias", 0)), 1),
        (small("x.amax(1)"), (("x", 1),), None),
        (small("x - x.mean(0)"), (("x", 0),), 0),
        (small("torch.softmax(q @ k.T, 1) @ v", ATTENTION, "q, k, v", ""), (("k", 0), ("v", 0)), None),
    ],
)
def test_a_reduced_axis_is_found(code: str, operands: tuple[Any, ...], output_dim: int | None) -> None:
    found = laboratory(code).reduction()
    assert found is not None
    assert (set(found.operands), found.output_dim) == (set(operands), output_dim)


@pytest.mark.parametrize(
    "code",
    [
        problems.RELU,
        problems.SCALAR,
        problems.TRIANGULAR,
        small("torch.relu(x)", TWO, "x, y"),
        small("x + y", TWO, "x, y"),
        small("x.cumsum(1)"),
        small("x.argmax(1)"),
        small("x[:, ::2]"),
        small("x * torch.arange(x.shape[1])"),
    ],
)
def test_none_is_found_where_nothing_is_reduced(code: str) -> None:
    assert laboratory(code).reduction() is None


def test_a_laboratory_that_is_out_of_time_finds_nothing() -> None:
    late = Laboratory(laboratory(problems.MATMUL).task, seconds=-1.0)
    assert late.late() and not late.multilinear() and late.reduction() is None


def test_lengths_are_written_as_in_the_contract() -> None:
    contract = laboratory(problems.LINEAR).contract
    assert size_of(contract, ("x", 1)) == "dim*features_0"
    assert size_of(contract, ("parameter:linear.weight", 1)) is None


# Exact probes


def designed(lab: Laboratory, item: Mapping[str, Any], seed: str) -> tuple[TaskOracle, Probe]:
    """A probe as a run draws it, under a seed of its own."""
    probe = lab.plan.probe(
        item["kind"], axes=item.get("axes"), inputs=item["inputs"], parameters=item.get("parameters", {}), stream="test"
    )
    return TaskOracle(lab.task, seed=seed), probe


def outputs(
    oracle: TaskOracle, probe: Probe, change: Callable[[str, Tensor], Tensor] = lambda name, value: value
) -> list[Tensor]:
    """The float32 eager model, with operands changed."""
    args = {name: change(name, value) if isinstance(value, Tensor) else value for name, value in oracle.inputs(probe).items()}
    state = {name: change(f"parameter:{name}", value) for name, value in (oracle.parameters(probe) or {}).items()}
    model = eager.load(oracle.model(probe, torch.float32), state)
    with torch.no_grad():
        return list(eager.as_tuple(model(*args.values())))


@functools.cache
def probes_of(code: str) -> tuple[Found | None, tuple[dict[str, Any], ...]]:
    lab = laboratory(code)
    found, integers = lab.reduction(), lab.integers()
    items = [integers] if integers else []
    if found is not None and found.output_dim is None:
        items += [*lab.absorption(found), *lab.identity(found)]
    return found, tuple(items)


KINDS = {
    "matmul": ["integers", "absorption", "identity", "identity"],
    "linear": ["integers", "absorption", "identity", "identity"],
    "in place": ["integers", "absorption", "identity", "identity"],
    "sum": ["integers", "absorption"],
    "relu": ["integers"],
    "literals": ["absorption"],
    "tuple": ["integers", "absorption"],
}


@pytest.mark.parametrize("name", KINDS)
def test_which_probes_there_are(name: str) -> None:
    assert [item["kind"] for item in probes_of(problems.ALL[name])[1]] == KINDS[name]


@pytest.mark.parametrize("name", ["softmax", "group norm", "scalar"])
def test_where_there_can_be_none_there_is_none(name: str) -> None:
    kinds = [item["kind"] for item in probes_of(problems.ALL[name])[1]]
    assert kinds == (["integers"] if name == "scalar" else [])


def test_a_mean_is_asked_over_a_power_of_two() -> None:
    (item,) = probes_of(problems.LITERALS)[1]
    assert item["axes"] == {"input_1": 64}


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=12)
@given(seed=st.integers(0, 1 << 30))
def test_an_exact_probe_gives_the_same_bits_in_any_order(name: str, seed: int) -> None:
    """Under any seed of a run, and with the operands permuted along the reduced axis."""
    lab, (found, items) = laboratory(problems.ALL[name]), probes_of(problems.ALL[name])
    generator = torch.Generator().manual_seed(seed)
    for item in items:
        oracle, probe = designed(lab, item, str(seed))
        want = [round_to(value, "float32") for value in oracle.truth(probe)]
        assert all(torch.equal(value, exact) for value, exact in zip(want, oracle.truth(probe), strict=True))
        assert all(torch.equal(got.double(), value) for got, value in zip(outputs(oracle, probe), want, strict=True))
        if found is None or found.output_dim is not None or item["kind"] == "identity":
            continue
        places = dict(found.operands)
        orders = {}

        def permuted(name: str, value: Tensor, places: dict[str, int] = places, orders: dict[int, Tensor] = orders) -> Tensor:
            if name not in places:
                return value
            size = value.shape[places[name]]
            orders.setdefault(size, torch.randperm(size, generator=generator))
            return value.index_select(places[name], orders[size])

        assert all(torch.equal(got.double(), value) for got, value in zip(outputs(oracle, probe, permuted), want, strict=True))


@pytest.mark.parametrize("name", ["matmul", "linear", "in place", "sum", "literals"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_absorption_probe_shows_a_narrow_accumulator(name: str, dtype: torch.dtype) -> None:
    lab, (found, items) = laboratory(problems.ALL[name]), probes_of(problems.ALL[name])
    assert found is not None
    item = next(item for item in items if item["kind"] == "absorption")
    oracle, probe = designed(lab, item, "narrow")
    operand, dim = found.operands[0]
    terms = oracle.inputs(probe)[operand].movedim(dim, 0)
    total = torch.zeros(terms.shape[1:], dtype=dtype)
    for term in terms:
        total = total + term.to(dtype)
    assert float((total.float() != terms.sum(0)).double().mean()) > 0.3


@pytest.mark.parametrize("name", ["matmul", "linear", "in place"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "tf32"])
def test_identity_probes_show_narrowed_operands(name: str, dtype: str) -> None:
    lab = laboratory(problems.ALL[name])

    def narrow(_: str, value: Tensor) -> Tensor:
        if dtype == "tf32":
            bits = value.view(torch.int32)
            return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)
        return value.to(getattr(torch, dtype)).float()

    for item in probes_of(problems.ALL[name])[1]:
        if item["kind"] == "identity":
            oracle, probe = designed(lab, item, "narrow")
            assert any(bool((a != b).any()) for a, b in zip(outputs(oracle, probe), outputs(oracle, probe, narrow), strict=True))


def test_both_operands_of_a_product_are_shown() -> None:
    free = [
        [name for name, recipe in {**item["inputs"], **item["parameters"]}.items() if recipe["kind"] == "fraction"]
        for item in probes_of(problems.LINEAR)[1]
        if item["kind"] == "identity"
    ]
    assert sorted(free) == [["linear.weight"], ["x"]]


# Gradients


@pytest.mark.parametrize(
    ("code", "inputs", "parameters"),
    [
        (problems.MATMUL, ["A", "B"], []),
        (problems.LINEAR, ["x"], ["linear.weight", "linear.bias"]),
        (problems.CROSS_ENTROPY, ["predictions"], []),
        (problems.BATCH_NORM, ["x"], ["norm.weight", "norm.bias"]),
        (problems.IN_PLACE, ["x"], ["linear.weight", "linear.bias"]),
        (problems.TUPLE, ["x"], []),
        (small("torch.relu(x) * y.detach()", TWO, "x, y"), ["x"], []),
    ],
)
def test_gradients_that_are_derivatives(code: str, inputs: list[str], parameters: list[str]) -> None:
    assert laboratory(code).gradient() == ({"inputs": inputs, "parameters": parameters}, "")


def test_states_that_are_made_in_forward_do_not_mix_dtypes() -> None:
    found, why = laboratory(problems.LSTM).gradient()
    assert not why and found is not None and len(found["parameters"]) == 6


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (small("x * x.detach()"), "the VJP is not the derivative of the forward"),
        (small("x - x.round().detach() + (3 * x).detach()"), "the VJP is not the derivative of the forward"),
        (small("x.argmax(1)"), "the output is no floating tensor"),
        (small("torch.relu(x).detach()"), "no operand has a gradient"),
        (small("torch.sqrt(x - x)"), "the gradient is not finite"),
        (problems.TRIANGULAR, "nothing to differentiate by"),
        (
            problem(layers("self.relu = nn.ReLU()", "(lambda y: y.mul_(2))(self.relu(x))"), ONE, constants=SMALL),
            "eager's own backward raises RuntimeError",
        ),
    ],
)
def test_gradients_that_are_not(code: str, reason: str) -> None:
    found, why = laboratory(code).gradient()
    assert found is None and why.startswith(reason)


def test_an_observation_is_what_the_outputs_hold() -> None:
    """The eager model of the oracle is the one that these tests call."""
    lab = laboratory(problems.LINEAR)
    oracle, probe = designed(lab, probes_of(problems.LINEAR)[1][0], "x")
    assert torch.equal(decode(oracle.eager(probe).outputs[0]), outputs(oracle, probe)[0])
