"""Every gate lets the eager model pass and refuses the fault that it is there for, with the right code."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from kcbench.domain.observation import Alias, Observation, Raised
from kcbench.domain.verdict import ERROR, FAIL, NOT_APPLICABLE, PASS, REFERENCE_INVALID
from kcbench.gates import JudgeContext, PlanContext, cmp01, cmp03, gate_ids, guard
from kcbench.gates.compare import INVALID, check_exact
from kcbench.gates.value import check_value
from kcbench.oracle.eager import record
from tests.chosen import CORE
from tests.gates.conftest import observed


@pytest.mark.parametrize("gate_id", gate_ids())
# The eager gated delta rule is judged with the red team: its noise takes too long to be estimated twice.
@pytest.mark.parametrize("task_id", [task for task in CORE if task != "level4/gated_delta_rule"])
def test_no_gate_refuses_the_eager_model(judge, task_id, gate_id) -> None:
    verdict = judge(gate_id, task_id)
    assert verdict.status not in (FAIL, ERROR), verdict
    if gate_id in ("GUARD", "CMP-01", "CMP-03", "ORD-02", "PRC-01", "EXC-01"):
        assert verdict.status == PASS, verdict


def zeros(probe, inputs, outputs):
    return tuple(torch.zeros_like(item) for item in outputs)


def slightly_off(probe, inputs, outputs):
    return tuple(item * (1 + 1e-4) for item in outputs)


def one_element_off(probe, inputs, outputs):
    out = outputs[0].clone()
    if out.numel():
        out.view(-1)[-1] += out.abs().max() * 1e-2
    return (out,)


def wrong_shape(probe, inputs, outputs):
    return tuple(item.unsqueeze(0) for item in outputs)


def as_double(probe, inputs, outputs):
    return tuple(item.double() for item in outputs)


def no_nan(probe, inputs, outputs):
    return tuple(torch.nan_to_num(item) for item in outputs)


def all_nan_when_poisoned(probe, inputs, outputs):
    poisoned = any(not bool(torch.isfinite(item).all()) for item in inputs.values())
    return tuple(torch.full_like(item, float("nan")) if poisoned else item for item in outputs)


def flips_infinity(probe, inputs, outputs):
    return tuple(torch.where(torch.isinf(item), -item, item) for item in outputs)


def flips_infinity_in_16_bits(probe, inputs, outputs):
    return outputs if probe.dtype == "float32" else flips_infinity(probe, inputs, outputs)


def flushes(probe, inputs, outputs):
    return tuple(torch.where(item.abs().double() < torch.finfo(item.dtype).tiny, 0.0, item).to(item.dtype) for item in outputs)


def flushes_half(probe, inputs, outputs):
    (out,) = flushes(probe, inputs, outputs)
    mixed = outputs[0].clone()
    mixed.view(-1)[::2] = out.reshape(-1)[::2]
    return (mixed,)


def half_accumulator(probe, inputs, outputs):
    a, b = inputs["A"], inputs["B"]
    total = torch.zeros(outputs[0].shape, dtype=torch.float16)
    for k in range(0, a.shape[1], 64):
        total = total + (a[:, k : k + 64].float() @ b[k : k + 64].float()).half()
    return (total.to(outputs[0].dtype),)


def tf32_inputs(probe, inputs, outputs):
    def cut(x):
        return (x.float().view(torch.int32) & ~0x1FFF).view(torch.float32)

    if outputs[0].dtype != torch.float32:
        return outputs
    return (cut(inputs["A"]) @ cut(inputs["B"]),)


def bf16_inputs(probe, inputs, outputs):
    return ((inputs["A"].bfloat16().double() @ inputs["B"].bfloat16().double()).to(outputs[0].dtype),)


def drops_the_last_term(probe, inputs, outputs):
    return ((inputs["A"][:, :-1].double() @ inputs["B"][:-1].double()).to(outputs[0].dtype),)


def power_of_two_only(probe, inputs, outputs):
    dim = probe.axes["dim"]
    return outputs if dim & (dim - 1) == 0 or dim == 173 else zeros(probe, inputs, outputs)


def ignores_layout(probe, inputs, outputs):
    return zeros(probe, inputs, outputs) if probe.world.layouts else outputs


def raises_on_odd(probe, inputs, outputs):
    if probe.axes["dim"] % 2 and probe.axes["dim"] != 173:
        return Observation("raised", raised=Raised("RuntimeError", "dim must be even"))
    return outputs


def one_pass_variance(probe, inputs, outputs):
    x = inputs["x"]
    mean = x.mean(-1, keepdim=True)
    var = (x * x).mean(-1, keepdim=True) - mean * mean
    weight, bias = (value for name, value in inputs.items() if name.startswith("parameter:"))
    return (((x - mean) * torch.rsqrt(var + 1e-5) * weight + bias).to(outputs[0].dtype),)


def test_a_transform_may_turn_an_infinity_in_16_bits(judge) -> None:
    """Its sign is that of a factor which was stored in 16 bits, and may be near zero."""
    assert judge("EXC-01", "level1/conv2d", flips_infinity_in_16_bits).status == PASS


@pytest.mark.parametrize(
    ("gate_id", "task_id", "fault", "code"),
    [
        ("CMP-01", "level1/softmax", zeros, "zeros"),
        ("CMP-01", "level1/softmax", slightly_off, "value"),
        ("CMP-01", "level1/matmul", one_element_off, "value"),
        ("CMP-01", "level1/matmul", drops_the_last_term, "value"),
        ("CMP-03", "level1/softmax", power_of_two_only, "shape"),
        ("CMP-03", "level1/softmax", ignores_layout, "stride"),
        ("CMP-03", "level1/softmax", raises_on_odd, "crash"),
        ("ORD-01", "level1/matmul", drops_the_last_term, "order"),
        ("ORD-03", "level1/layernorm", one_pass_variance, "cancellation"),
        ("ORD-03", "level1/matmul", half_accumulator, "cancellation"),
        ("PRC-01", "level1/matmul", tf32_inputs, "tf32"),
        ("PRC-01", "level1/matmul", bf16_inputs, "narrowed"),
        ("PRC-01", "level1/softmax", as_double, "dtype"),
        ("PRC-02", "level1/matmul", half_accumulator, "accumulator"),
        ("EXC-01", "level1/relu", no_nan, "absorbed"),
        ("EXC-01", "level1/relu", all_nan_when_poisoned, "spread"),
        ("EXC-01", "level1/sum_axis", flips_infinity, "sign"),
        ("EXC-01", "level1/sum_axis", flips_infinity_in_16_bits, "sign"),
        ("EXC-01", "level1/conv2d", flips_infinity, "sign"),
        ("EXC-02", "level1/relu", flushes, "flushed"),
        ("EXC-02", "level1/relu", flushes_half, "inconsistent"),
        ("GUARD", "level1/softmax", wrong_shape, "output-shape"),
        ("GUARD", "level1/softmax", as_double, "output-dtype"),
    ],
)
def test_a_fault_is_refused_with_its_code(judge, gate_id, task_id, fault, code) -> None:
    verdict = judge(gate_id, task_id, fault)
    assert verdict.status == FAIL, verdict
    assert code in [finding.code for finding in verdict.findings], verdict
    for finding in verdict.findings:
        assert finding.summary and finding.evidence["kind"]


def test_a_loud_failure_is_told_apart(judge) -> None:
    verdict = judge("CMP-03", "level1/softmax", raises_on_odd)
    assert [finding.silent for finding in verdict.findings if finding.code == "crash"] == [False]


def test_a_declined_dtype_is_not_a_failure(judge) -> None:
    def only_float32(probe, inputs, outputs):
        if probe.dtype != "float32":
            return Observation("raised", raised=Raised("NotImplementedError", "float32 only"))
        return outputs

    verdict = judge("PRC-01", "level1/softmax", only_float32)
    assert verdict.status == PASS
    assert any("declined" in note for note in verdict.notes)


def test_memory_of_others_is_not_written_to(judge) -> None:
    def writes(probe, inputs, outputs):
        digests = ("",) * probe.world.repeats
        return Observation("ok", outputs=tuple(map(record, outputs)), repeats=digests, outside=probe.label == "other inputs")

    assert judge("GUARD", "level1/relu", writes).code == "writes-outside"


def test_order_dependent_bytes_and_aliases_are_refused(oracles) -> None:
    from kcbench.gates import all_gates

    gate = next(gate for gate in all_gates() if gate.id == "ORD-02")
    oracle = oracles("level1/relu")
    plan = PlanContext(oracle.task.contract)
    probes = list(gate.plan(plan))
    honest = {probe.id: dataclasses.replace(oracle.eager(probe), repeats=("a",) * probe.world.repeats) for probe in probes}
    by_id = {probe.id: probe for probe in probes}
    first = probes[0].id
    cases = {
        "nondeterministic": {first: dataclasses.replace(honest[first], repeats=("a",) * 9 + ("b",))},
        "stateful": {probes[2].id: dataclasses.replace(honest[probes[2].id], repeats=("b",) * 10)},
        "alias-input": {first: dataclasses.replace(honest[first], aliases=(Alias(0, "input", "x"),))},
        "alias-output": {first: dataclasses.replace(honest[first], aliases=(Alias(0, "output", "0"),))},
        "mutates-input": {first: dataclasses.replace(honest[first], mutated=("x",))},
    }
    assert gate.judge(JudgeContext(plan, honest, oracle, by_id), probes).status == PASS
    for code, changed in cases.items():
        verdict = gate.judge(JudgeContext(plan, {**honest, **changed}, oracle, by_id), probes)
        assert [finding.code for finding in verdict.findings] == [code]


def test_an_exception_that_only_one_gate_can_meet_is_refused(judge) -> None:
    def second_instance_raises(probe, inputs, outputs):
        return Observation("raised", raised=Raised("RuntimeError", "built twice")) if probe.world.instance == "fresh" else outputs

    def second_run_raises(probe, inputs, outputs):
        return Observation("raised", raised=Raised("RuntimeError", "called twice")) if probe.world.repeats > 1 else outputs

    assert judge("GUARD", "level1/relu", second_instance_raises).code == "unfinished"
    assert judge("ORD-02", "level1/relu", second_run_raises).code == "crash"


@pytest.mark.parametrize("gate_id", [gate for gate in gate_ids() if not gate.startswith("RES")])
def test_a_kernel_that_never_answers_is_refused_for_that_alone(judge, gate_id) -> None:
    def raises(probe, inputs, outputs):
        return Observation("raised", raised=Raised("CompilationError", "at 8:9"))

    verdict = judge(gate_id, "level1/softmax", raises)
    if verdict.status == NOT_APPLICABLE:
        assert gate_id == "PRC-02"
    else:
        assert [finding.code for finding in verdict.findings] == ["unfinished" if gate_id == "GUARD" else "crash"]
    assert not any(finding.silent for finding in verdict.findings)


def test_a_wrong_value_shows_beside_a_call_that_raises(judge) -> None:
    def both(probe, inputs, outputs):
        if 1 in probe.axes.values():
            return Observation("raised", raised=Raised("ValueError", "a size of one"))
        return slightly_off(probe, inputs, outputs)

    assert {finding.code for finding in judge("CMP-03", "level1/matmul", both).findings} >= {"crash", "shape"}


def test_a_kernel_need_not_be_steadier_than_the_eager_model(oracles) -> None:
    from kcbench.gates import ord02

    oracle = oracles("level1/relu")
    plan = PlanContext(oracle.task.contract)
    probes = list(ord02.GATE.plan(plan))
    seen = {
        probe.id: dataclasses.replace(
            oracle.eager(probe), repeats=tuple(f"{index}" for index in range(probe.world.repeats)) if probe is probes[0] else ()
        )
        for probe in probes
    }
    context = JudgeContext(plan, seen, oracle, {probe.id: probe for probe in probes})
    assert [finding.code for finding in ord02.GATE.judge(context, probes).findings] == ["nondeterministic"]

    class Unsteady(type(oracle)):
        def steady(self, probe):
            return False

    loose = Unsteady(oracle.task, seed=oracle.seed)
    verdict = ord02.GATE.judge(dataclasses.replace(context, oracle=loose), probes)
    assert verdict.status == PASS
    assert "the eager model's own results differ" in verdict.notes[0]
    aliased = {**seen, probes[1].id: dataclasses.replace(seen[probes[1].id], aliases=(Alias(0, "input", "x"),))}
    verdict = ord02.GATE.judge(dataclasses.replace(context, oracle=loose, observations=aliased), probes)
    assert [finding.code for finding in verdict.findings] == ["alias-input"]


def test_a_check_that_eager_fails_is_invalid(judge, oracles) -> None:
    """When the reference and eager disagree, nobody is refused."""
    oracles.cache_clear()
    oracle = oracles("level1/relu")
    real = oracle.truth
    try:
        oracle.truth = lambda probe: tuple(item + 1 for item in real(probe))  # type: ignore[method-assign]
        assert judge("CMP-01", "level1/relu", zeros).status == REFERENCE_INVALID
    finally:
        # What it remembers follows from that truth.
        oracles.cache_clear()


def stored_often(times: int):
    """A softmax whose exponentials are stored in the dtype of the input, and whose result is rounded away from zero at the end."""

    def mutate(probe, inputs, outputs):
        if probe.dtype == "float32":
            return outputs
        x = inputs["x"].double()
        y = (x - x.amax(1, keepdim=True)).exp()
        y = y.to(inputs["x"].dtype).double() / y.sum(1, keepdim=True)
        u = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[probe.dtype]
        return ((y * (1 + (times - 2) * u)).to(inputs["x"].dtype),)

    return mutate


def test_a_result_may_be_stored_once_more_in_16_bits(judge) -> None:
    """Torch's own softmax does it on a CPU, where the rows lie apart."""
    assert judge("PRC-01", "level1/softmax", stored_often(2)).status == PASS
    assert judge("PRC-01", "level1/softmax", stored_often(6)).codes == ("PRC-01.value",)


class _EagerRaises:
    """An oracle whose eager model raises; whatever else is asked of it is a mistake."""

    def eager(self, probe):
        return Observation("raised", raised=Raised("RuntimeError", "not for this size"))


@pytest.mark.parametrize("check", [check_value, check_exact])
def test_where_eager_raises_the_truth_is_not_asked_for(oracles, check) -> None:
    """Without a reference the truth is the model itself, which raises as well."""
    oracle = oracles("level1/softmax")
    plan = PlanContext(oracle.task.contract)
    probe = plan.probe("ordinary")
    result = check(JudgeContext(plan, {probe.id: oracle.eager(probe)}, _EagerRaises()), probe)
    assert (result.status, result.reason) == (INVALID, "the eager model raises")


def test_how_far_from_the_line_an_exact_probe_is_is_known_where_anything_is_granted(judge) -> None:
    """The calibration of what transforms may cost rests on it."""

    def barely_off(probe, inputs, outputs):
        return tuple(item * (1 + 2.0**-21) for item in outputs)

    assert judge("PRC-02", "level1/conv2d").metrics["worst_by_dtype"]["float32"] == 0.0
    near = judge("PRC-02", "level1/conv2d", barely_off)
    assert near.status == PASS and 0.0 < near.metrics["worst_by_dtype"]["float32"] < 1.0
    far = judge("PRC-02", "level1/conv2d", zeros)
    assert far.codes == ("PRC-02.accumulator",) and 1.0 < far.metrics["worst_by_dtype"]["float32"] < 1e4
    # A product of matrices has to be exact: there is no line to be near to.
    assert "float32" not in judge("PRC-02", "level1/matmul", slightly_off).metrics.get("worst_by_dtype", {})


def test_a_running_maximum_that_starts_at_zero_is_refused(judge) -> None:
    def shifted_by_zero(probe, inputs, outputs):
        e = torch.exp(inputs["x"] - inputs["x"].amax(1, keepdim=True).clamp_min(0))
        return (e / e.sum(1, keepdim=True),)

    verdict = judge("CMP-01", "level1/softmax", shifted_by_zero)
    assert [finding.evidence["probe"] for finding in verdict.findings] == ["far below zero"]


def test_sums_in_another_order_are_granted_more_where_everything_cancels(oracles) -> None:
    """Even and odd terms apart, of which one accumulator sees positive numbers only and the other negative ones."""
    from kcbench.gates import ord03

    oracle = oracles("level1/sum_axis")
    plan = PlanContext(oracle.task.contract)
    probes = list(ord03.GATE.plan(plan))
    alternating = next(probe for probe in probes if probe.label == "alternating")
    truth, sizes = oracle.truth(alternating)[0], oracle.magnitude(alternating)[0]
    u, length = 2.0**-24, oracle.task.contract.reduction_length(alternating.axes)

    def off_by(units):
        moved = (truth + units * u * sizes).float()
        seen = {probe.id: oracle.eager(probe) for probe in probes}
        seen[alternating.id] = dataclasses.replace(seen[alternating.id], outputs=(record(moved),))
        return ord03.GATE.judge(JudgeContext(plan, seen, oracle, {probe.id: probe for probe in probes}), probes)

    assert off_by(length**0.5).status == PASS
    assert [finding.code for finding in off_by(1000.0).findings] == ["cancellation"]


def test_a_result_that_is_kept_by_the_sum_of_an_input_is_refused(judge) -> None:
    kept: dict[object, object] = {}

    def by_sum(probe, inputs, outputs):
        key = probe.dtype, tuple(probe.axes.values()), float(inputs["predictions"].double().sum())
        return kept.setdefault(key, outputs)

    verdict = judge("CMP-01", "level1/cross_entropy", by_sum)
    assert [finding.evidence["probe"] for finding in verdict.findings] == [cmp01.MOVED]


@pytest.mark.parametrize(("task_id", "name", "shown"), [("level1/softmax", "x", "x1e-5"), ("level1/attention", "q", "q x1e-5")])
def test_an_input_that_is_taken_for_zero_is_refused(judge, oracles, task_id, name, shown) -> None:
    oracle = oracles(task_id)

    def cut(probe, inputs, outputs):
        if not inputs[name].numel() or float(inputs[name].abs().max()) >= 1e-4:
            return outputs
        changed = {**oracle.inputs(probe), name: torch.zeros_like(inputs[name])}
        return tuple(
            item.to(outputs[0].dtype) for item in oracle.twin(oracle.model(probe, torch.float64), as_double_inputs(changed))
        )

    verdict = judge("CMP-01", task_id, cut)
    assert shown in [finding.evidence["probe"] for finding in verdict.findings]


def as_double_inputs(inputs):
    return {key: value.double() for key, value in inputs.items()}


def test_another_dtype_at_a_length_of_one_is_refused(oracles) -> None:
    oracle = oracles("level1/sum_axis")
    plan = PlanContext(oracle.task.contract)
    probes = {probe.id: probe for gate in (guard.GATE, cmp03.GATE) for probe in gate.plan(plan)}
    seen = {
        name: observed(oracle, probe, lambda probe, _, y: tuple(x.float() for x in y) if probe.axes["dim1"] == 1 else y)
        for name, probe in probes.items()
    }
    verdict = guard.GATE.judge(JudgeContext(plan, seen, oracle, probes), list(guard.GATE.plan(plan)))
    assert verdict.codes == ("GUARD.output-dtype",)
