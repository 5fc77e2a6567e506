"""RES-01 as it judges what was seen on a GPU: made-up observations, since this runs anywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from kcbench.domain.observation import Observation, Raised, TensorRecord
from kcbench.domain.probe import Probe
from kcbench.domain.verdict import FAIL, NOT_APPLICABLE, PASS, Verdict
from kcbench.gates import JudgeContext, PlanContext
from kcbench.gates.res01 import GATE, SLACK
from kcbench.numerics.formats import decode
from kcbench.oracle.eager import record
from kcbench.oracle.oracle import TaskOracle
from kcbench.tasks import load_task

TASK = load_task("level1/relu")
EAGER_PEAK = 5 << 20
Change = Callable[[Probe, Observation], Observation]


class OnDevice(TaskOracle):
    """The eager model as a GPU would show it."""

    def _eager(self, probe: Probe, repeats: int, dtype: str) -> Observation:
        seen = super()._eager(probe, repeats, dtype)
        outputs = tuple(dataclasses.replace(item, device="cuda:0") for item in seen.outputs)
        return dataclasses.replace(seen, outputs=outputs, peak_bytes=EAGER_PEAK, host_copies=0)


def judged(*changes: Change, device: str = "cuda", oracle: TaskOracle | None = None) -> Verdict:
    """The verdict on what eager shows, changed."""
    oracle = oracle or OnDevice(TASK, seed="tests")
    plan = PlanContext(TASK.contract, device=device)
    probes = list(GATE.plan(plan))
    seen: dict[str, Observation] = {}
    for probe in probes:
        seen[probe.id] = oracle.eager(probe)
        for change in changes:
            seen[probe.id] = change(probe, seen[probe.id])
    return GATE.judge(JudgeContext(plan, seen, oracle, {probe.id: probe for probe in probes}), probes)


def only(label: str, change: Callable[[Observation], Observation]) -> Change:
    return lambda probe, seen: change(seen) if probe.label == label else seen


def everywhere(**fields: Any) -> Change:
    return lambda probe, seen: dataclasses.replace(seen, **fields)


def outputs(change: Callable[[TensorRecord], TensorRecord]) -> Callable[[Observation], Observation]:
    return lambda seen: dataclasses.replace(seen, outputs=tuple(change(item) for item in seen.outputs))


RAISED = Observation("raised", raised=Raised("RuntimeError", "no kernel image"))


def test_the_plan_asks_on_a_gpu_for_a_side_stream_and_its_twin() -> None:
    probes = {probe.label: probe for probe in GATE.plan(PlanContext(TASK.contract, device="cuda"))}
    assert list(probes) == ["ordinary call", "legacy size", "default stream", "side stream"]
    side, plain = probes["side stream"], probes["default stream"]
    assert side.world.stream == "side" and plain.world.stream == "default"
    assert dataclasses.replace(side, label="", world=plain.world) == dataclasses.replace(plain, label="")
    assert [probe.label for probe in GATE.plan(PlanContext(TASK.contract))] == ["ordinary call"]


def test_what_eager_does_is_allowed() -> None:
    verdict = judged()
    assert verdict.status == PASS and verdict.checks == 4


def test_without_a_gpu_there_is_nothing_to_ask() -> None:
    verdict = judged(device="cpu", oracle=TaskOracle(TASK, seed="tests"))
    assert (verdict.status, verdict.reason) == (PASS, "") or verdict.status == NOT_APPLICABLE


def test_an_output_elsewhere_is_refused() -> None:
    verdict = judged(lambda probe, seen: outputs(lambda item: dataclasses.replace(item, device="cpu"))(seen))
    (finding,) = verdict.findings
    assert (finding.code, finding.silent) == ("device", True)
    assert finding.evidence["expected"] == "cuda:0" and finding.evidence["got"] == "cpu"
    assert "output 0 is on cpu although the inputs are on cuda:0" in finding.summary


@pytest.mark.parametrize(("count", "code"), [(0, None), (None, None), (1, "host-copy"), (3, "host-copy")])
def test_copies_to_the_host(count: int | None, code: str | None) -> None:
    verdict = judged(only("ordinary call", lambda seen: dataclasses.replace(seen, host_copies=count)))
    assert verdict.code == code
    if code is not None:
        assert verdict.findings[0].evidence["got"] == count


def test_copies_that_eager_makes_too_are_allowed() -> None:
    class Copies(OnDevice):
        def _eager(self, probe: Probe, repeats: int, dtype: str) -> Observation:
            return dataclasses.replace(super()._eager(probe, repeats, dtype), host_copies=2)

    assert judged(everywhere(host_copies=5), oracle=Copies(TASK, seed="tests")).status == PASS


def limits(factor: float = TASK.contract.memory_factor) -> Mapping[str, int]:
    oracle = OnDevice(TASK, seed="tests")
    found = {}
    for probe in GATE.plan(PlanContext(TASK.contract, device="cuda")):
        size = sum(value.numel() * 4 for value in oracle.inputs(probe).values())
        found[probe.label] = int(factor * 2 * size) + SLACK  # ReLU: outputs are as large as inputs.
    return found


@pytest.mark.parametrize("label", ["ordinary call", "legacy size"])
def test_memory_up_to_the_limit_is_granted_and_one_byte_more_is_not(label: str) -> None:
    limit = limits()[label]
    assert judged(only(label, lambda seen: dataclasses.replace(seen, peak_bytes=limit))).status == PASS
    verdict = judged(only(label, lambda seen: dataclasses.replace(seen, peak_bytes=limit + 1)))
    (finding,) = verdict.findings
    assert finding.code == "memory"
    assert (finding.evidence["expected"], finding.evidence["got"], finding.evidence["probe"]) == (limit, limit + 1, label)


def test_twice_what_eager_takes_is_always_granted() -> None:
    class Hungry(OnDevice):
        def _eager(self, probe: Probe, repeats: int, dtype: str) -> Observation:
            return dataclasses.replace(super()._eager(probe, repeats, dtype), peak_bytes=1 << 30)

    oracle = Hungry(TASK, seed="tests")
    assert judged(everywhere(peak_bytes=2 << 30), oracle=oracle).status == PASS
    assert judged(everywhere(peak_bytes=(2 << 30) + 1), oracle=oracle).code == "memory"


def test_memory_that_cannot_be_measured_is_not_judged() -> None:
    assert judged(everywhere(peak_bytes=None)).status == PASS


def doubled(item: TensorRecord) -> TensorRecord:
    return dataclasses.replace(record(decode(item) * 2 + 1), device=item.device)


def test_a_wrong_result_under_a_side_stream_alone_is_refused_silently() -> None:
    verdict = judged(only("side stream", outputs(doubled)))
    (finding,) = verdict.findings
    assert (finding.code, finding.silent, finding.evidence["kind"]) == ("stream", True, "stream")
    assert finding.summary.startswith("the kernel did not wait for the current stream")


def test_a_result_that_is_wrong_on_both_streams_is_another_gates_business() -> None:
    verdict = judged(only("side stream", outputs(doubled)), only("default stream", outputs(doubled)))
    assert verdict.status == PASS


def test_an_exception_under_a_side_stream_alone_is_refused_loudly() -> None:
    verdict = judged(only("side stream", lambda seen: RAISED))
    assert verdict.status == FAIL
    (finding,) = verdict.findings
    assert (finding.code, finding.silent) == ("stream", False)
    assert finding.summary.startswith("the call fails under another stream than the default one")
    assert "no kernel image" in finding.summary
    side = next(probe for probe in GATE.plan(PlanContext(TASK.contract, device="cuda")) if probe.world.stream == "side")
    assert finding.probes == (side.id,)


@pytest.mark.parametrize("status", ["crashed", "timeout", "memory"])
def test_so_are_a_crash_and_a_hang(status: str) -> None:
    verdict = judged(only("side stream", lambda seen: Observation(status, detail="gone")))
    assert [(finding.code, finding.silent) for finding in verdict.findings] == [("stream", False)]


def test_an_exception_on_both_streams_is_another_gates_business() -> None:
    verdict = judged(only("side stream", lambda seen: RAISED), only("default stream", lambda seen: RAISED))
    assert verdict.status == PASS and any("no kernel image" in note for note in verdict.notes)


def test_an_exception_in_every_call_is_not_judged_here() -> None:
    verdict = judged(lambda probe, seen: RAISED)
    assert verdict.status == NOT_APPLICABLE


def test_a_side_stream_that_was_not_reached_is_not_judged() -> None:
    verdict = judged(only("side stream", lambda seen: Observation("not-run", detail="out of time")))
    assert verdict.status == PASS


def test_several_findings_are_told_once_each() -> None:
    far = lambda seen: outputs(lambda item: dataclasses.replace(item, device="cpu"))(seen)  # noqa: E731
    verdict = judged(lambda probe, seen: dataclasses.replace(far(seen), host_copies=1, peak_bytes=1 << 40))
    assert [finding.code for finding in verdict.findings] == ["device", "host-copy", "memory"]


torch.set_num_threads(1)
