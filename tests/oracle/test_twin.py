"""Without a reference, the model itself in float64 is the truth: whatever it says about dtypes, it stays in float64."""

from __future__ import annotations

import dataclasses
import threading

import pytest
import torch

from kcbench.gates import PlanContext
from kcbench.numerics.formats import decode
from kcbench.oracle.oracle import TaskOracle
from kcbench.oracle.twin import Factories, widened
from tests.oracle.tasks import PROBLEM, made, plan

WEIGHTED = {"gradient": {"inputs": ["x"], "parameters": ["weight"]}, "parameters": {"weight": {"kind": "normal"}}}
WEIGHT = "self.weight = nn.Parameter(torch.rand(5))"


def asked(task_options: dict[str, object], **probe_options: object) -> tuple[TaskOracle, object]:
    task = made(**task_options)  # type: ignore[arg-type]
    return TaskOracle(task, seed="s"), plan(task).probe("p", **probe_options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "forward",
    [
        "return torch.exp(x)",
        "return torch.exp(x.float())",
        "return torch.exp(x.to(torch.float32)).float()",
        "return torch.exp(x).type(torch.float32)",
        "return torch.exp(x) + torch.zeros(x.shape)",
        "return torch.exp(x) * torch.ones(x.shape, dtype=torch.float32)",
        "state = torch.empty(x.shape)\nstate.copy_(torch.exp(x))\nreturn state",
        "return torch.exp(torch.addmm(torch.zeros(3, 5), torch.eye(3), x))",
    ],
)
def test_the_truth_is_that_of_float64(forward: str) -> None:
    oracle, probe = asked({"forward": forward})
    (truth,) = oracle.truth(probe)
    x = oracle.inputs(probe)["x"]
    assert (x.dtype, truth.dtype) == (torch.float32, torch.float64)
    assert float((truth - x.double().exp()).abs().max()) < 1e-14
    (sigma,) = oracle.estimate(probe).sigma
    assert bool((sigma > 0).all()) and float((sigma / truth).max()) < 1e-6
    assert decode(oracle.eager(probe).outputs[0]).dtype == torch.float32


def test_draws_are_those_of_float32() -> None:
    torch.manual_seed(0)
    plain = torch.randn(4)
    torch.manual_seed(0)
    with widened():
        wide = torch.randn(4)
    assert wide.dtype == torch.float64 and torch.equal(wide, plain.double())


def test_only_floats_without_a_wider_dtype_are_widened() -> None:
    with Factories():
        assert torch.arange(3).dtype == torch.tensor([1]).dtype == torch.int64
        assert torch.zeros(3, dtype=torch.float16).dtype == torch.float16
        assert torch.zeros(3, dtype=torch.bool).dtype == torch.bool
        assert torch.linspace(0, 1, 3).dtype == torch.full((2,), 1.5).dtype == torch.float64
    assert torch.zeros(3).dtype == torch.float32


def test_other_threads_keep_their_dtypes() -> None:
    seen = []
    with widened():
        thread = threading.Thread(target=lambda: seen.append(torch.zeros(1).dtype))
        thread.start()
        thread.join()
    assert seen == [torch.float32]


@pytest.mark.parametrize("forward", ["x.mul_(2)\nreturn x + 1", "x[0] = 0\nreturn x.sum(1)", "return x.relu_()"])
def test_a_model_that_writes_into_its_inputs_spoils_nothing(forward: str) -> None:
    oracle, probe = asked({"forward": forward})
    before = oracle.inputs(probe)["x"].clone()
    first = decode(oracle.eager(probe).outputs[0])
    (truth,), (sigma,) = oracle.truth(probe), oracle.estimate(probe).sigma
    assert torch.equal(oracle.inputs(probe)["x"], before)
    assert float((first.double() - truth).abs().max()) < 1e-5
    assert float(sigma.max()) < 1e-5, "samples of the noise do not build upon one another"


def test_targets_are_not_spoilt_either() -> None:
    described = [{"name": "t", "shape": ["rows"], "kind": "given", "domain": "recipe", "recipe": PROBLEM}]
    oracle, probe = asked(
        {
            "forward": "t.add_(1)\nreturn t.float()",
            "arguments": "t",
            "inputs": "return [torch.arange(rows)]",
            "described": described,
        }
    )
    assert oracle.truth(probe)[0].tolist() == [1, 2, 3]
    assert oracle.inputs(probe)["t"].tolist() == [0, 1, 2]


def test_a_buffer_that_is_returned_is_not_shared() -> None:
    oracle, probe = asked(
        {"forward": "self.kept.copy_(x.sum())\nreturn self.kept", "init": "self.register_buffer('kept', torch.zeros(1))"}
    )
    first = oracle.truth(probe)[0].clone()
    oracle.estimate(probe)
    assert torch.equal(oracle.truth(probe)[0], first)


def test_several_outputs_and_integers() -> None:
    oracle, probe = asked({"forward": "return x.sum(1), x.argmax(1)"})
    total, place = oracle.truth(probe)
    assert (total.dtype, place.dtype) == (torch.float64, torch.int64)


# Magnitudes


def test_the_magnitude_bounds_all_that_is_added() -> None:
    reduction = {"length": ["width"], "operands": [["x", 1]], "linear": True}
    oracle, probe = asked({"forward": "return x @ self.weight - 3", "init": WEIGHT, "reduction": reduction})
    (size,) = oracle.magnitude(probe) or ()
    x, weight = oracle.inputs(probe)["x"].double(), (oracle.parameters(probe) or {})["weight"].double()
    assert torch.allclose(size, x.abs() @ weight.abs() - 3)
    assert (oracle.magnitude(probe) or ())[0] is size


@pytest.mark.parametrize("reduction", [None, {"length": ["width"], "operands": [["x", 1]], "linear": False}])
def test_only_linear_tasks_have_one(reduction: dict[str, object] | None) -> None:
    oracle, probe = asked({"forward": "return x.sum(1)", "reduction": reduction})
    assert oracle.magnitude(probe) is None


# Gradients


def test_gradients_are_those_of_finite_differences() -> None:
    oracle, probe = asked(
        {"forward": "return torch.tanh(x * self.weight) + torch.zeros(5)", "init": WEIGHT, **WEIGHTED}, gradient=True
    )
    found = oracle.gradient_truth(probe)
    assert set(found) == {"input:x", "parameter:weight"}
    x, weight = oracle.inputs(probe)["x"].double(), (oracle.parameters(probe) or {})["weight"].double()
    (cotangent,) = oracle.cotangents(probe)
    slope = cotangent.double() * (1 - torch.tanh(x * weight) ** 2)
    assert torch.allclose(found["input:x"], slope * weight, rtol=1e-12)
    assert torch.allclose(found["parameter:weight"], (slope * x).sum(0), rtol=1e-12)
    assert all(bool((sigma > 0).all()) for sigma in oracle.gradient_estimate(probe).sigma)
    assert oracle.eager(probe).gradient_status == "ok"


def test_an_operand_without_a_path_has_a_gradient_of_zero() -> None:
    oracle, probe = asked({"forward": "return x * self.weight.detach()", "init": WEIGHT, **WEIGHTED}, gradient=True)
    assert not bool(oracle.gradient_truth(probe)["parameter:weight"].any())
    assert oracle.eager(probe).gradients["parameter:weight"] is None


def test_parameters_that_are_not_there_at_a_size_are_not_asked_for() -> None:
    task = made(
        "for weight in self.weights: x = x * weight\nreturn x",
        init="self.weights = nn.ParameterList(torch.ones(5) for _ in range(layers))",
        axes={"rows": {"gate": 3, "legacy": 6}, "layers": {"gate": 2, "legacy": 2}},
        described=[{"name": "x", "shape": ["rows", 5]}],
        parameters={"weights.0": {"kind": "normal"}, "weights.1": {"kind": "normal"}},
        gradient={"inputs": ["x"], "parameters": ["weights.0", "weights.1"]},
    )
    code = task.code.replace("def __init__(self):", "def __init__(self, layers):")
    contract = dataclasses.replace(task.contract, init=({"axis": "layers"},))
    oracle = TaskOracle(dataclasses.replace(task, code=code, contract=contract), seed="twin")
    for layers in (2, 1):
        probe = PlanContext(contract).probe("layers", axes={"layers": layers}, gradient=True)
        names = {"input:x", *(f"parameter:weights.{index}" for index in range(layers))}
        assert set(oracle.gradient_names(probe)) == set(oracle.gradient_truth(probe)) == names
        assert oracle.eager(probe).gradient_status == "ok"
