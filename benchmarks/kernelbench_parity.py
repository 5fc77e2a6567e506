"""Do the tasks compute what KernelBench's problems compute? Both models, from one seed, on the same inputs.

    python benchmarks/kernelbench_parity.py CHECKOUT [--level 1] [--only 023] [--device cuda] [--full]

CHECKOUT is a KernelBench checkout, whose code is run. Constructor arguments, parameters and inputs must be equal bit for
bit, and outputs within a few units in the last place of the largest; where they are not, for sums that cancel, both models
are compared again in float64. Without ``--full`` sizes are those of the contracts' gates. ``--part 2/8`` takes every eighth
task, beginning with the second. Exits with 1 if a task differs.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kcbench.domain.task import Task
from kcbench.infer.sites import find_sites
from kcbench.oracle.eager import as_tuple
from kcbench.oracle.module import problem_module
from kcbench.oracle.seeding import seeded
from kcbench.suites.kernelbench import load_problems
from kcbench.tasks import list_tasks, load_task

CLOSE = 64 * 2.0**-24
"""Largest difference, relative to the largest output: the same sums in another order."""
CLOSE_IN_FLOAT64 = 2.0**-40
"""The same where models and inputs are converted to float64. A sum that cancels loses digits, but not a dozen bits."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--level", type=int, action="append", help="only this level; may be repeated")
    parser.add_argument("--only", default="", help="only tasks whose id contains this")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--full", action="store_true", help="at the problems' own sizes")
    parser.add_argument("--part", default="1/1", help="which part of the tasks, and of how many")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    # Two ways to write one convolution may not differ by a rounding of the inputs to 11 bits, which torch allows by default.
    torch.backends.cudnn.allow_tf32 = False

    problems = load_problems(options.checkout)
    done = differ = left = 0
    for name in list_tasks()[part - 1 :: parts]:
        task = load_task(name)
        place = task.contract.kernelbench
        if place is None or options.only not in name or place[0] not in (options.level or [1, 2, 3]):
            continue
        try:
            found = compare(task, problems[place].code, device=options.device, full=options.full)
        except torch.OutOfMemoryError:
            found, left = "does not fit", left + 1
            print(f"{name}: {found}", flush=True)
            continue
        except Exception as error:
            found = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        done, differ = done + 1, differ + bool(found)
        print(f"{name}: {found or 'the same'}", flush=True)
        gc.collect()
        if options.device != "cpu":
            torch.cuda.empty_cache()
    print(f"{done - differ} of {done} tasks compute what their problem computes; {left} do not fit")
    return 1 if differ else 0


def compare(task: Task, code: str, *, device: str, full: bool) -> str:
    """How a task and a problem differ; empty if they do not."""
    problem = find_sites(code, where="problem")
    sizes = None if full else task.contract.sizes()
    names = _names(find_sites(task.code, where=task.id).constants, problem.constants)
    mine = problem_module(task.code, sizes, name="mine", where=task.id)
    their_sizes = None if sizes is None else {names.get(name, name): size for name, size in sizes.items()}
    theirs = problem_module(problem.code, their_sizes, name="theirs", where="problem")
    if repr(mine.get_init_inputs()) != repr(theirs.get_init_inputs()):
        return f"constructor arguments {mine.get_init_inputs()} and {theirs.get_init_inputs()}"
    inputs = [_inputs(module, device) for module in (mine, theirs)]
    if not _equal(*inputs):
        return "inputs"
    models = [_model(module, device) for module in (mine, theirs)]
    states = [model.state_dict() for model in models]
    if list(states[0]) != list(states[1]):
        return f"parameters {sorted(set(states[0]) ^ set(states[1])) or 'in another order'}"
    if not _equal(list(states[0].values()), list(states[1].values())):
        return "values of parameters"
    found = _outputs_differ(models, inputs[0], CLOSE)
    if not found or not all(value.dtype == torch.float32 for value in inputs[0] if isinstance(value, Tensor)):
        return found
    # Where what is added cancels, another order of the same sum may differ by more; in float64 it hardly does.
    wide = [value.double() if isinstance(value, Tensor) else value for value in inputs[0]]
    return _outputs_differ([model.double() for model in models], wide, CLOSE_IN_FLOAT64) and found


def _outputs_differ(models: list[torch.nn.Module], inputs: list[Any], close: float) -> str:
    """How the outputs of two models differ; empty if they do not."""
    outputs = []
    for model in models:
        with torch.no_grad(), seeded(2):
            # Dropout on a GPU draws from the GPU's own generator.
            if torch.cuda.is_initialized():
                torch.cuda.manual_seed(2)
            outputs.append(as_tuple(model(*inputs)))
    if [item.shape for item in outputs[0]] != [item.shape for item in outputs[1]]:
        return "shapes of outputs"
    return next((line for pair in zip(*outputs, strict=True) if (line := _difference(*pair, close))), "")


def _names(mine: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, str]:
    """The problem's names for constants that have another one there: those of numbers without a name, in the same order."""
    rest = [name for name in mine if name not in theirs], [name for name in theirs if name not in mine]
    return {ours: name for ours, name in zip(*rest, strict=False) if mine[ours] == theirs[name]}


def _inputs(module: Any, device: str) -> list[Any]:
    with seeded(0):
        return [value.to(device) if isinstance(value, Tensor) else value for value in module.get_inputs()]


def _model(module: Any, device: str) -> torch.nn.Module:
    with seeded(1):
        return module.Model(*module.get_init_inputs()).to(device)


def _equal(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(
        a.dtype == b.dtype and torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else a == b
        for a, b in zip(first, second, strict=True)
    )


def _difference(first: Tensor, second: Tensor, close: float) -> str:
    if first.dtype != second.dtype:
        return f"dtypes of outputs, {first.dtype} and {second.dtype}"
    if torch.equal(first.nan_to_num(), second.nan_to_num()) and torch.equal(first.isnan(), second.isnan()):
        return ""
    error = float((first.double() - second.double()).abs().max() / second.double().abs().max())
    return "" if error <= close else f"outputs, by {error:.1e} of the largest"


if __name__ == "__main__":
    sys.exit(main())
