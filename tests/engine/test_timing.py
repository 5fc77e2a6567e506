"""Timing from end to end on a CPU: what is measured, what is flagged, and what cannot be gamed by the usual means."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kcbench.domain import timing as t
from kcbench.domain.result import Result
from kcbench.domain.schema import validate
from kcbench.domain.timing import Timing
from kcbench.engine import Options, run
from kcbench.engine.series import Effort
from kcbench.suites.folder import parse_submission
from kcbench.tasks import load_task

ROOT = Path(__file__).resolve().parents[2]
NAP = 0.05
"""Seconds that a slow kernel sleeps: more than a hundred times what the eager model takes on these sizes."""
QUICK = Effort(trials=16, seconds=2.0, warm_seconds=0.05, warm_limit=0.2, batch=4)

HEAD = "import gc, os, sys, threading, time, torch\nimport torch.nn as nn\n"


def model(body: str, head: str = "") -> str:
    return f"{HEAD}{textwrap.dedent(head)}\nclass ModelNew(nn.Module):\n    def forward(self, x):\n" + textwrap.indent(
        textwrap.dedent(body), " " * 8
    )


PATCHES = """
class Event:
    def __init__(self, *args, **kwargs): pass
    def record(self, *args): pass
    def elapsed_time(self, other): return 1e-6
time.perf_counter = time.monotonic = time.time = lambda: 0.0
torch.cuda.Event = Event
torch.cuda.synchronize = torch.cuda.current_stream = lambda *args: None
"""

LAZY = """
class Lazy(torch.Tensor):
    # Computed when somebody looks: after the clock has stopped.
    @staticmethod
    def __new__(cls, x):
        made = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)
        made.x = x.clone()
        return made
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        time.sleep(0.05)
        return func(*[torch.softmax(a.x, dim=1) if isinstance(a, cls) else a for a in args], **(kwargs or {}))
"""

KERNELS: Mapping[str, str] = {
    "honest": model("return torch.softmax(x, dim=1)"),
    "slow": model(f"time.sleep({NAP})\nreturn torch.softmax(x, dim=1)"),
    "patched": model(f"time.sleep({NAP})\nreturn torch.softmax(x, dim=1)", PATCHES),
    "stale": model("if not hasattr(self, 'kept'): self.kept = torch.softmax(x, dim=1)\nreturn self.kept"),
    "by_address": model(
        """
        cache = self.__dict__.setdefault("cache", {})
        key = x.data_ptr(), x.shape
        if key not in cache:
            cache[key] = torch.softmax(x, dim=1)
        return cache[key]
        """
    ),
    "by_content": model(
        f"""
        cache = self.__dict__.setdefault("cache", {{}})
        key = tuple(x.flatten()[:4].tolist()), x.shape
        if key not in cache:
            time.sleep({NAP})
            cache[key] = torch.softmax(x, dim=1)
        return cache[key]
        """
    ),
    "later": model(
        """
        out = torch.zeros_like(x)
        threading.Timer(0.2, lambda: out.copy_(torch.softmax(x, dim=1))).start()
        return out
        """
    ),
    "zeros": model("return torch.zeros_like(x)"),
    "lazy": model("return Lazy(x)", LAZY),
    "raises": model("raise ValueError('no softmax today')"),
    "forged": model(
        """
        for item in gc.get_objects():
            if type(item).__name__ == "Clock":
                item.take = lambda: [float("nan")] * 4
        return torch.softmax(x, dim=1)
        """
    ),
    "dies_when_timed": model(
        """
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name == "_trial":
                os._exit(7)
            frame = frame.f_back
        return torch.softmax(x, dim=1)
        """
    ),
}


def options(**changes: object) -> Options:
    known: dict[str, object] = {"seed": "timing", "gates": ("PRC-02",), "timing": ("eager", "eager-tf32")}
    return Options(**{**known, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def results() -> Mapping[str, Result]:
    task = load_task("level1/softmax")
    items = [parse_submission(source, path=name, id=name, task=task.id) for name, source in KERNELS.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcbench.engine.timekeeper.EFFORT", QUICK)
        made = run(items, options(jobs=2), tasks={task.id: task})
    return {result.id: result for result in made}


@pytest.fixture
def timed(results: Mapping[str, Result]) -> Callable[[str], Timing]:
    def find(name: str) -> Timing:
        found = results[name].timing
        assert found is not None, (results[name].untimed, results[name].reason)
        return found

    return find


def test_an_honest_kernel_is_timed_beside_its_baselines(results: Mapping[str, Result], timed: Callable[[str], Timing]) -> None:
    timing = timed("honest")
    assert timing.flags == () and timing.checked == 3 and timing.trials >= 16
    assert set(timing.baselines) == {"eager"} and timing.absent == {"eager-tf32": "a CPU has no tf32"}
    assert timing.baselines["eager"].trials >= 16
    assert 0 < timing.min_ms <= timing.median_ms <= timing.max_ms and timing.min_ms <= timing.mean_ms <= timing.max_ms
    assert timing.size == "reduced" and timing.floor_ms is None and timing.device
    assert timing.speedup("eager") == timing.baselines["eager"].median_ms / timing.median_ms and timing.speedup("compile") is None
    assert "timing" in results["honest"].timings and results["honest"].untimed == ""


def test_results_with_a_timing_are_results(results: Mapping[str, Result]) -> None:
    for result in results.values():
        data = json.loads(json.dumps(result.to_json(), allow_nan=False))
        validate(data, "result", source=result.id)
        assert Result.from_json(data).timing == result.timing and Result.from_json(data).untimed == result.untimed


@pytest.mark.parametrize("name", ["slow", "patched"])
def test_a_sleep_is_slow_whatever_becomes_of_the_timers(timed: Callable[[str], Timing], name: str) -> None:
    timing = timed(name)
    speedup = timing.speedup()
    assert timing.min_ms >= NAP * 1e3 and timing.host_ms >= NAP * 1e3 / 2
    assert speedup is not None and speedup < 0.2 and timing.flags == ()


@pytest.mark.parametrize("name", ["stale", "by_address", "later", "zeros"])
def test_a_timed_output_that_is_not_the_answer_is_flagged(timed: Callable[[str], Timing], name: str) -> None:
    timing = timed(name)
    assert t.TIMED_OUTPUT_WRONG in timing.flags and "set " in timing.detail["timed_output"]


def test_no_content_comes_twice(timed: Callable[[str], Timing]) -> None:
    timing = timed("by_content")
    assert timing.min_ms >= NAP * 1e3 and t.TIMED_OUTPUT_WRONG not in timing.flags


def test_work_that_the_workers_clock_did_not_see_is_flagged(timed: Callable[[str], Timing]) -> None:
    timing = timed("lazy")
    assert t.CLOCK_MISMATCH in timing.flags
    assert timing.host_ms >= NAP * 1e3 / 2 and timing.median_ms < NAP * 1e3 / 5


def test_refused_kernels_are_timed_and_those_that_do_not_answer_are_not(results: Mapping[str, Result]) -> None:
    raised, died, forged = (results[name] for name in ("raises", "dies_when_timed", "forged"))
    assert raised.timing is None and raised.untimed == "a legacy trial was not answered: ValueError: no softmax today"
    assert died.timing is None and died.untimed == "exited with status 7" and died.status == "scored" and died.verdicts
    assert forged.timing is None and forged.untimed == "broke the protocol" and forged.verdicts
    assert not results["later"].legacy[-1].correct and results["later"].timing is not None


def test_without_baselines_nothing_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    task = load_task("level1/softmax")
    item = parse_submission(KERNELS["honest"], path="x", id="x", task=task.id)
    (result,) = run([item], options(timing=(), legacy=()), tasks={task.id: task})
    assert result.timing is None and result.untimed == "" and "timing" not in result.timings
    keys = {options(timing=timing).key(task, item) for timing in ((), ("eager",), ("eager", "compile"))}
    assert len(keys) == 3


def test_more_than_ten_times_the_eager_models_speed_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.engine.timekeeper.EFFORT", QUICK)
    known = load_task("level1/relu")
    code = known.code.replace("return torch.relu(x)", f"__import__('time').sleep({NAP}); return torch.relu(x)")
    assert code != known.code
    task = dataclasses.replace(known, code=code)
    items = [parse_submission(model("return torch.relu(x)"), path=n, id=n, task=task.id) for n in ("first", "second")]
    made = run(items, options(), tasks={task.id: task})
    for result in made:
        assert result.timing is not None and result.timing.flags == (t.EXCESSIVE_SPEEDUP,), (result.untimed, result.timing)
    # Baselines are measured once, unless the machine's speed has changed meanwhile.
    counts = [result.timing.detail["baselines_measured"] for result in made if result.timing is not None]
    assert counts[0] in (1, 2) and counts[1] <= counts[0] + 1


@pytest.mark.slow
def test_the_speed_of_the_interpreter_is_not_taken() -> None:
    pytest.importorskip("triton")
    source = (ROOT / "kcbench/redteam/honest/level1_relu/triton_select.py").read_text()
    task = load_task("level1/relu")
    item = parse_submission(source, path="x", id="x", task=task.id)
    (result,) = run([item], options(), tasks={task.id: task})
    assert result.status == "scored" and result.timing is None and "interpreter" in result.untimed


@pytest.mark.slow
def test_a_compiled_baseline_is_measured_or_absent_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.engine.timekeeper.EFFORT", QUICK)
    task = load_task("level1/softmax")
    item = parse_submission(KERNELS["honest"], path="x", id="x", task=task.id)
    (result,) = run([item], options(timing=("eager", "compile")), tasks={task.id: task})
    timing = result.timing
    assert timing is not None and "eager" in timing.baselines
    assert ("compile" in timing.baselines) != ("compile" in timing.absent), timing


@pytest.mark.slow
def test_several_tasks_are_timed_while_other_submissions_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.engine.timekeeper.EFFORT", QUICK)
    bodies = {"softmax": "return torch.softmax(x, dim=1)", "relu": "return torch.relu(x)", "gelu": "return nn.functional.gelu(x)"}
    items = [
        parse_submission(model(body), path=f"{name}{n}", id=f"{name}{n}", task=f"level1/{name}")
        for n in range(3)
        for name, body in bodies.items()
    ]
    made = run(items, options(jobs=4, legacy=(), timing=("eager",)))
    assert len(made) == 9 and all(result.timing is not None and result.timing.checked for result in made)
    assert all(t.TIMED_OUTPUT_WRONG not in result.timing.flags for result in made if result.timing is not None)
