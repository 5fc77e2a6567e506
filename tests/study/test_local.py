"""A local session observes what a worker session observes."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kcbench.domain.observation import Observation  # noqa: E402
from kcbench.domain.probe import Probe, World  # noqa: E402
from kcbench.engine.calls import build_call, plan_context  # noqa: E402
from kcbench.oracle.oracle import TaskOracle  # noqa: E402
from kcbench.runtime import WorkerPool  # noqa: E402
from kcbench.study import LocalSession  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

ORACLES = {name: TaskOracle(load_task(name), seed="local") for name in ("level1/relu", "level1/rmsnorm")}
HEAD = "import torch\nimport torch.nn as nn\n\n\n"

RMSNORM = """
class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)

    def forward(self, x):
        return self.norm(x)
"""
RELU = "class ModelNew(nn.Module):\n    def forward(self, x):\n        {}\n"

KERNELS = {
    "parameters and gradients": ("level1/rmsnorm", RMSNORM),
    "no parameters": (
        "level1/rmsnorm",
        "class ModelNew(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n\n    def forward(self, x):\n        return x\n",
    ),
    "gradients": ("level1/relu", RELU.format("return torch.relu(x)")),
    "alias": ("level1/relu", RELU.format("return x.view(-1).view(x.shape)")),
    "in place": ("level1/relu", RELU.format("return x.detach().clamp_(min=0)")),
    "raises": ("level1/relu", RELU.format("raise ValueError('no')")),
    "raises in backward": (
        "level1/relu",
        RELU.format("y = x * 1; y = y.exp(); out = y * 2; y.detach().zero_(); y.add_(1); return out"),
    ),
    "a tuple": ("level1/relu", RELU.format("return x + 0, torch.relu(x)")),
    "no tensor": ("level1/relu", RELU.format("return 'x'")),
    "random": ("level1/relu", RELU.format("return torch.rand_like(x)")),
    "tampers": ("level1/relu", RELU.format("self._buffers[1, 2] = x; return torch.relu(x)")),
    "leaves": ("level1/relu", RELU.format("import sys; sys.exit(3)")),
    "raises at import": ("level1/relu", "raise ImportError('no such thing')\n"),
    "no class": ("level1/relu", "x = 1\n"),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool() as made:
        yield made


def probes(task: str) -> list[Probe]:
    context = plan_context(ORACLES[task].task, device="cpu", interpreted=False, redraw=True)
    return [
        context.probe("plain"),
        context.probe("half", dtype="float16", stream="half"),
        context.probe("repeated", world=World(repeats=3, disturb=("dirty",), layouts={"x": "strided"})),
        context.probe("gradient", gradient=True, world=World(instance="fresh")),
        context.probe("plain again", world=World(occurrence=1)),
    ]


def plain(seen: Observation) -> Observation:
    """Without time, and without the lines of the trace, in which paths differ."""
    raised = seen.raised and dataclasses.replace(seen.raised, trace="")
    # How a worker ended is told by its exit status, which there is none of here.
    return dataclasses.replace(seen, seconds=0.0, raised=raised, detail="" if seen.status == "crashed" else seen.detail)


@pytest.mark.parametrize("name", KERNELS)
def test_equal_observations(name: str, pool: WorkerPool) -> None:
    task, source = KERNELS[name]
    with pool.open(HEAD + source) as worker, LocalSession(HEAD + source) as local:
        mine, theirs = local.load(), worker.load()
        assert (mine.status, mine.raised and mine.raised.message) == (theirs.status, theirs.raised and theirs.raised.message)
        for probe in probes(task):
            call = build_call(ORACLES[task], probe)
            assert plain(local.call(call)) == plain(worker.call(call)), probe.label


def test_each_kernel_shows_what_its_name_says() -> None:
    """So that the comparison above compares something."""
    seen = {}
    for name, (task, source) in KERNELS.items():
        with LocalSession(HEAD + source) as local:
            seen[name] = [local.call(build_call(ORACLES[task], probe)) for probe in probes(task)]
    assert [item.kind for item in seen["alias"][0].aliases] == ["input"]
    assert seen["in place"][0].mutated == ("x",)
    assert seen["gradients"][3].gradients["input:x"] is not None
    assert set(seen["parameters and gradients"][3].gradients) == {"input:x", "parameter:norm.weight"}
    assert seen["no parameters"][0].missing_parameters == ("norm.weight",)
    assert seen["raises"][0].raised is not None and seen["raises"][0].raised.type == "ValueError"
    assert seen["raises in backward"][3].gradient_status == "raised"
    assert seen["a tuple"][0].structure == "tuple"
    assert seen["no tensor"][0].structure == "other:str"
    assert len(set(seen["random"][2].repeats)) == 3
    assert [item.status for item in seen["tampers"]] == ["crashed"] * 4 + ["not-run"]
    assert seen["leaves"][0].detail == "called sys.exit(3)"
    assert seen["no class"][0].status == "not-run"


def test_a_closed_session_leaves_nothing_behind() -> None:
    before = set(sys.modules)
    session = LocalSession(HEAD + RMSNORM)
    assert session.load().ok
    folder = session._folder
    assert list(folder.glob("submission_*.py")) and set(sys.modules) > before
    session.close()
    assert not folder.exists() and set(sys.modules) == before
    assert Path.cwd() != folder


def test_memory_that_was_never_written_holds_poison() -> None:
    """As in a worker; which bytes are found there is the C library's business, so that sessions are not compared."""
    with LocalSession(HEAD + RELU.format("return torch.empty_like(x)")) as local:
        seen = local.call(build_call(ORACLES["level1/relu"], probes("level1/relu")[2]))
    assert len(set(seen.repeats)) == 3
