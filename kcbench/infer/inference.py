"""From a problem to a task with a contract: draft, experiment, trial."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from kcbench.domain.contract import Contract
from kcbench.domain.schema import validate
from kcbench.domain.task import Task
from kcbench.gates import PlanContext, cmp03, gate_ids
from kcbench.infer.draft import Draft, draft
from kcbench.infer.problem import Problem, run
from kcbench.infer.selfcheck import SLIGHT, VALUE_GATES, refused_by_luck, trial
from kcbench.infer.shrink import CannotShrinkError
from kcbench.infer.structure import Laboratory, size_of
from kcbench.infer.trace import Trace, trace, words
from kcbench.oracle.oracle import TaskOracle
from kcbench.oracle.seeding import seeded

OPERATIONS_A_SECOND, OVERHEAD_SECONDS = 1e9, 5e-5
"""Float64 on one core: multiply-adds in a second, and what an operation takes however small it is."""
EVALUATIONS = 12
"""Evaluations that one truth and one noise estimate amount to."""
LONGEST_SECONDS = 1.25
"""Longest float64 evaluation: a verdict takes about a thousand. MobileNetV1, which cannot be smaller, stays just below."""
LARGE_SECONDS = 0.25
"""Longest float64 evaluation at a single larger size."""
CHEAP_SECONDS = 0.15
"""Time for one truth and one noise estimate up to which all sizes are tried."""
SHAPE_SECONDS = 20.0
"""Time for the sizes of all axes together, for models that are slower."""
JUMPS = words("bernoulli bernoulli_ native_dropout multinomial randint rrelu_with_noise gt lt ge le eq ne sign floor ceil round")
"""Operations by which a random number moves an output by a jump."""
SHIFTED = words("logsumexp _log_softmax")
"""Operations that are spelled with a shift by the largest element, through which autograd may go."""
SHIFT_NOISE = 4.0
"""What the noise of a gradient is multiplied by where one of them is among the operations, as in the contracts of tasks."""
SPREAD_GATES = ("CMP-01", "CMP-03")
"""Gates that can judge a random value by its distance from the mean."""
LABORATORY_SECONDS = 20.0
TRIAL_SECONDS = 90.0
SEED = "infer"
"""Of the inputs on which gates are tried."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Inference:
    """An inferred task and how it was come by."""

    task: Task
    how: str
    """How the gate sizes were found."""
    seconds: float

    @property
    def applicable(self) -> tuple[str, ...]:
        """Gates that were seen to pass eager and to catch their mutants, and those that need no trial."""
        return self.task.contract.applicable(gate_ids())


def infer(code: str, *, task_id: str, name: str) -> Inference:
    """Infer the contract of a KernelBench-format problem by experiment on its own model.

    Args:
        code: The problem's source. It is trusted and runs in this process.
        task_id: Id of the task that it becomes.
        name: What it is called in messages.

    Raises:
        KcbenchError: The problem itself does not run.
        CannotShrinkError: No sizes were found at which the gates could run.
        ValueError: An input is of a kind that a contract cannot describe.
    """
    start = time.monotonic()
    problem = Problem.parse(code, name=name)
    problem.check()
    made = draft(problem, task_id=task_id)
    _economise(made)
    _feasible(made)
    stochastic = _random(problem, made)
    if stochastic:
        data = _stochastic(made, stochastic)
    elif _keeps_state(problem, made):
        reason = "the model keeps a state that changes its next answer"
        data = {**made.data, "deterministic": False, "untestable": dict.fromkeys((*VALUE_GATES, "ORD-02"), reason)}
    else:
        data = _tried(made)
    validate(data, "contract", source=name)
    return Inference(_task(made, data), made.shrunk.how, time.monotonic() - start)


def _task(made: Draft, data: Json) -> Task:
    return Task(data["task"], data["title"], data["category"], data["formula"], made.problem.sites.code, Contract.from_json(data))


def _random(problem: Problem, made: Draft) -> str:
    """Why the output is no function of the inputs; empty when it is one."""
    models = [problem.model(made.shrunk.gate) for _ in range(2)]
    return "" if _same(problem, made, models, (1, 2)) else "the model draws random numbers in forward"


def _keeps_state(problem: Problem, made: Draft) -> bool:
    """Whether a second call on the same inputs gives another answer."""
    return not _same(problem, made, [problem.model(made.shrunk.gate)] * 2, (1, 1))


def _same(problem: Problem, made: Draft, models: Sequence[nn.Module], seeds: Sequence[int]) -> bool:
    """Whether calls on the same inputs, in order, give equal answers."""
    inputs = problem.inputs(made.shrunk.gate)
    answers = []
    for model, seed in zip(models, seeds, strict=True):
        with seeded(seed):
            answers.append(run(model, [value.clone() if isinstance(value, Tensor) else value for value in inputs]))
    return all(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(*answers, strict=True))


def _stochastic(made: Draft, reason: str) -> Json:
    """For a model that draws random numbers: values against their spread, where that still tells something.

    A dropout moves a few outputs by a jump, and two dozen runs can miss the jump of any one of them: only smooth draws have a
    spread to go by.
    """
    if jumps := sorted(made.trace.kinds & JUMPS):
        reason = f"{reason} and jumps with them ({', '.join(jumps)})"
        return {**made.data, "deterministic": False, "untestable": dict.fromkeys((*VALUE_GATES, "ORD-02"), reason)}
    others = {gate: reason for gate in (*VALUE_GATES, "ORD-02") if gate not in SPREAD_GATES}
    data = {**copy.deepcopy(made.data), "deterministic": False, "random": True, "untestable": others}
    oracle = TaskOracle(_task(made, data), seed=SEED)
    unfit = dict(trial(oracle, seconds=TRIAL_SECONDS, gates=SPREAD_GATES).untestable(spared=[SLIGHT]))
    kept = [gate for gate in SPREAD_GATES if gate not in unfit]
    unfit |= dict.fromkeys(refused_by_luck(oracle, kept), "with other random numbers the model itself would be refused")
    data["untestable"] = {**others, **{gate: f"{reason}; {why}" for gate, why in unfit.items()}}
    return data


def _feasible(made: Draft) -> None:
    """Take out of the shape class what runs alone and not together: channels, say, that their groups no longer divide.

    CMP-03 changes several axes at once where tensors would grow too large. Where such a probe does not run, the last axis without
    which it would run begins at the least size at which it does; or is held at its gate size, if there is none.
    """
    axes = made.data["axes"]
    if not _runs(made, {name: entry["legacy"] for name, entry in axes.items()}):
        for entry in axes.values():
            entry["legacy"] = entry["gate"]
    full = {name: made.problem.constants[name] for name in axes if name in made.problem.constants}
    for _ in range(2 * len(axes)):
        contract = Contract.from_json(made.data)
        gate = contract.sizes()
        # What is planned for a kernel: tensors are smaller on the interpreter, so that other combinations come up.
        plans = [PlanContext(contract, interpreted=interpreted, full_sizes=full) for interpreted in (False, True)]
        tried = dict.fromkeys(tuple(sorted(probe.axes.items())) for plan in plans for probe in cmp03.GATE.plan(plan))
        broken = next((dict(sizes) for sizes in tried if not _runs(made, dict(sizes))), None)
        if broken is None:
            return
        changed = [name for name in reversed(axes) if broken[name] != gate[name]]
        culprit = next((name for name in changed if _runs(made, {**broken, name: gate[name]})), changed[0])
        least = next(
            (n for n in (2, 3, 4, 8) if broken[culprit] < n < gate[culprit] and _runs(made, {**broken, culprit: n})), None
        )
        axes[culprit] = _from(axes[culprit], least) if least is not None else _held(axes[culprit])
        made.data["reasons"][f"axes.{culprit}"] = "not every size goes with every size of the other axes"


def _held(entry: Json) -> Json:
    return {"gate": entry["gate"], "legacy": entry["legacy"], "varies": False}


def _from(entry: Json, least: int) -> Json:
    """An axis whose class begins at a size."""
    if entry.get("values"):
        return {**entry, "values": [size for size in entry["values"] if size >= least]}
    step = entry.get("multiple_of", 1)
    return {**entry, "minimum": -(-least // step) * step}


def _economise(made: Draft) -> None:
    """Fewer sizes for models that are slow to judge, so that scoring a kernel on them takes a minute and not an hour."""
    axes = made.data["axes"]
    once = _seconds(made.trace)
    if once > LONGEST_SECONDS:
        raise CannotShrinkError(
            f"at the smallest sizes that stand for the problem a forward takes {made.trace.cost:.1e} operations, and a verdict "
            "takes a thousand of them in float64"
        )
    cost = EVALUATIONS * once
    if cost <= CHEAP_SECONDS:
        return
    varying = [name for name, entry in axes.items() if entry.get("varies", True)]
    each = max(1, int(SHAPE_SECONDS / cost / max(1, len(varying))))
    for name in varying:
        axis = Contract.from_json(made.data).axes[name]
        wanted = [n for n in (1, axis.gate + 1, axis.gate - 1, axis.gate // 2, 2, axis.gate + 2, 3) if n > 0 and axis.admits(n)]
        kept = [n for n in dict.fromkeys(wanted) if n != axis.gate and n <= axis.gate + 2]
        # One larger size shows what a window or a loop that is too short leaves out.
        large = {axis.legacy} if _affordable(made, name, axis.legacy) else set()
        values = sorted({axis.gate, *kept[:each], *large})
        axes[name] = {
            "gate": axis.gate,
            "legacy": max(large or {axis.gate}),
            "values": values,
            **({"varies": False} if len(values) < 2 else {}),
        }
    for name, entry in axes.items():
        if name not in varying:
            axes[name] = {**entry, "legacy": entry["gate"]}
    made.data["reasons"]["axes.values"] = f"few sizes are tried: one evaluation with its rounding noise takes about {cost:.1f} s"


def _seconds(seen: Trace) -> float:
    """What one float64 evaluation takes, by its operations: by the clock, a contract would depend on the machine."""
    return seen.cost / OPERATIONS_A_SECOND + len(seen.operations) * OVERHEAD_SECONDS


def _affordable(made: Draft, name: str, size: int) -> bool:
    try:
        seen = trace(made.problem, {**made.shrunk.gate, name: size}, seconds=20.0, real=made.shrunk.real)
    except Exception:
        return False
    return _seconds(seen) <= LARGE_SECONDS


def _runs(made: Draft, sizes: Mapping[str, int]) -> bool:
    known = {name: size for name, size in sizes.items() if name in made.problem.constants}
    try:
        trace(made.problem, {**made.shrunk.gate, **known}, seconds=10.0, real=made.shrunk.real)
    except Exception:
        return False
    return True


def _tried(made: Draft) -> Json:
    """The contract after experiment and trial; with narrower inputs or the constructed parameters where those are needed."""
    best: tuple[int, Json] | None = None
    for variant in _variants(made.data):
        data = _experiment(made, variant)
        data["untestable"] = dict(trial(TaskOracle(_task(made, data), seed=SEED), seconds=TRIAL_SECONDS).untestable())
        lost = sum(gate in data["untestable"] for gate in ("CMP-01", "CMP-03", "EXC-01", "PRC-01"))
        if best is None or lost < best[0]:
            best = lost, data
        if "CMP-01" not in data["untestable"]:
            break
    assert best is not None
    return best[1]


def _variants(data: Json) -> list[Json]:
    """The draft; the same with the problem's own inputs; the same with constructed parameters too."""
    own = copy.deepcopy(data)
    for item in own["inputs"]:
        if item.get("kind", "float") == "float" and item.get("domain", "real") == "real":
            item |= {"domain": "recipe", "recipe": {"kind": "problem"}}
            own["reasons"][f"inputs.{item['name']}"] = (
                "on other values than its own the model itself is not accurate enough to judge by"
            )
    built = copy.deepcopy(own)
    built["parameters"] = {name: {"kind": "problem"} for name in built["parameters"]}
    built["reasons"]["parameters"] = "redrawn, they make the model amplify rounding beyond use"
    return [data, own, built] if data["parameters"] else [data, own]


def _experiment(made: Draft, data: Json) -> Json:
    data = copy.deepcopy(data)
    laboratory = Laboratory(_task(made, data), seconds=LABORATORY_SECONDS)
    reasons = data["reasons"]
    linear = laboratory.multilinear()
    found = laboratory.reduction()
    convolution = any("convolution" in kind for kind in made.trace.kinds)
    exact = not convolution or linear
    if found is not None:
        size = size_of(laboratory.contract, found.operands[0])
        data["reduction"] = {
            "length": [size if size is not None else found.size],
            "operands": [list(operand) for operand in found.operands],
            "exact": not convolution,
            "linear": linear,
            "permutable": True,
            "output_dim": found.output_dim,
        }
        reasons["reduction"] = "found by permuting operands together in float64"
    else:
        reasons["ORD-01"] = "no axis was found along which the operands may be permuted together"
        reasons["ORD-03"] = "no summed axis was found"
    designed: list[Json] = []
    if exact:
        integers = laboratory.integers()
        designed += [integers] if integers is not None else []
        if found is not None and found.output_dim is None:
            designed += laboratory.absorption(found)
            if not convolution:
                designed += laboratory.identity(found)
    data["designed"] = designed
    if not any(item["kind"] == "absorption" for item in designed):
        reasons["PRC-02"] = "no exact absorption probe was found for this task"
    gradient, why = laboratory.gradient()
    data["gradient"] = gradient
    if gradient is None:
        reasons["CMP-02"] = why
    elif made.trace.kinds & SHIFTED:
        gradient["noise_factor"] = SHIFT_NOISE
        reasons["gradient.noise_factor"] = (
            "autograd may go through the shift by the largest element too, whose own gradient cancels"
        )
    return data
