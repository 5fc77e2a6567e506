"""Are contracts fair? Scores what must be right: each task's own model, as it is, in float64 inside, and compiled.

    python benchmarks/honesty.py [CHECKOUT [--on-tasks]] [--level 1] [--device cuda] [--jobs 8] [--variants eager,float64,compile]

Without CHECKOUT these are the tasks of kcbench; with a KernelBench checkout its problems, whose contracts are inferred, or, with
``--on-tasks``, its models on the tasks that stand for them: KernelBench's own form of a problem must be clean there, too.
Prints every refusal, then how many of each variant were clean. Exits with 1 if there is a refusal. With ``--json FILE``
every result is added to a file, and what is in it already is counted and not scored again. ``--part 2/8`` takes every eighth
task, beginning with the second: several processes make better use of many cores than one.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from kcbench.cli.inference import infer_problems
from kcbench.domain.result import Result
from kcbench.engine import Event, Options, resolve_device, run
from kcbench.suites.folder import parse_submission
from kcbench.suites.kernelbench import load_problems
from kcbench.tasks import list_tasks, load_task

EAGER = """

class ModelNew(Model):
    pass
"""

FLOAT64 = """

class ModelNew(Model):
    _inside = False

    def forward(self, *args):
        if self._inside:
            return super().forward(*args)
        wide = lambda x: x.double() if torch.is_tensor(x) and x.is_floating_point() else x
        self._inside = True
        try:
            state = {name: wide(value) for name, value in {**dict(self.named_parameters()), **dict(self.named_buffers())}.items()}
            out = torch.func.functional_call(self, state, tuple(wide(arg) for arg in args))
        finally:
            self._inside = False
        narrow = lambda x: x.to(torch.get_default_dtype()) if torch.is_tensor(x) and x.is_floating_point() else x
        return type(out)(map(narrow, out)) if isinstance(out, (tuple, list)) else narrow(out)
"""

COMPILE = """

class ModelNew(Model):
    def forward(self, *args):
        if not hasattr(self, "_compiled"):
            object.__setattr__(self, "_compiled", torch.compile(super().forward))
        return self._compiled(*args)
"""

VARIANTS = {"eager": EAGER, "float64": FLOAT64, "compile": COMPILE}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--on-tasks", action="store_true", help="score the models of CHECKOUT on the tasks of kcbench")
    parser.add_argument("--gates", default="", help="only these, for example EXC-01,EXC-02")
    parser.add_argument("--level", type=int, action="append", help="only this level; may be repeated")
    parser.add_argument("--only", default="", help="only tasks whose id contains this")
    parser.add_argument("--part", default="1/1", help="which part of the tasks, and of how many")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--variants", default="eager,float64")
    parser.add_argument("--json", type=Path, help="add one line per result; those in it are not scored again")
    options = parser.parse_args()
    if options.on_tasks and options.checkout is None:
        parser.error("--on-tasks needs a checkout of KernelBench")

    def chosen(names: Iterable[str]) -> list[str]:
        levels = tuple(f"level{level}/" for level in options.level or range(1, 10))
        part, parts = map(int, options.part.split("/"))
        return [name for name in names if name.startswith(levels) and options.only in name][part - 1 :: parts]

    codes: dict[str, str] = {}
    if options.checkout is None or options.on_tasks:
        tasks = {name: load_task(name) for name in chosen(list_tasks())}
    else:
        problems = {problem.task_id: problem for problem in load_problems(options.checkout).values()}
        made = infer_problems({name: problems[name] for name in chosen(problems)}, jobs=options.jobs)
        for name, reason in {**made.unusable, **made.failed}.items():
            print(f"no contract: {name}: {reason}")
        tasks = made.tasks
    if options.on_tasks:
        models = load_problems(options.checkout)
        tasks = {name: task for name, task in tasks.items() if task.contract.kernelbench is not None}
        codes = {name: models[task.contract.kernelbench].code for name, task in tasks.items() if task.contract.kernelbench}
    submissions = [
        parse_submission(codes.get(name, task.code) + VARIANTS[variant], path=name, id=f"{name}:{variant}", task=name)
        for name, task in tasks.items()
        for variant in options.variants.split(",")
    ]
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    done = _read(options.json) if options.json else []
    for result in done:
        _show(result, counts)
    known = {result.id for result in done}
    log = options.json.open("a") if options.json else None

    def on_event(event: Event) -> None:
        result = event.result
        if result is None:
            return
        _show(result, counts)
        if log:
            log.write(json.dumps(result.to_json()) + "\n")
            log.flush()

    gates = tuple(name for name in options.gates.split(",") if name)
    settings = Options(seed="honesty", device=resolve_device(options.device), jobs=options.jobs, legacy=(), gates=gates)
    run([item for item in submissions if item.id not in known], settings, tasks=tasks, on_event=on_event)
    for (variant, state), count in sorted(counts.items()):
        print(f"{variant:8} {state:10} {count}")
    return int(any(state == "refused" for _, state in counts))


def _read(path: Path) -> list[Result]:
    """The results of an earlier run; a last line that was cut off is left away."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [Result.from_json(json.loads(line)) for line in whole.splitlines()]


def _show(result: Result, counts: collections.Counter[tuple[str, str]]) -> None:
    """Count a result, and print what is wrong with it."""
    state = "clean" if result.clean else "refused" if result.refused else result.status
    counts[result.id.rsplit(":", 1)[1], state] += 1
    if result.clean:
        return
    print(f"{state}: {result.id}: {', '.join(result.codes)} {result.reason}")
    for verdict in result.verdicts:
        for finding in verdict.findings:
            print(f"    {verdict.gate}.{finding.code}: {finding.summary}")
        if verdict.status == "ERROR":
            print(f"    {verdict.gate} ERROR: {verdict.reason}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
