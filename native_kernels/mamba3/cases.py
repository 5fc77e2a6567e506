"""Inputs, truth and results for checks. The truth is the task's own model, token by token, in float64."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor, nn

FOLDER = Path(__file__).parent
TASKS = FOLDER.parents[1] / "tasks" / "level4"
NAMES = tuple(sorted(path.parent.name for path in FOLDER.glob("level4/*/*.py")))
"""The tasks that have an entry."""
DIFFERENTIABLE = tuple(name for name in NAMES if not name.endswith("_decode"))
"""Those whose entry has a gradient."""


@cache
def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def truth_model(name: str) -> nn.Module:
    """The model of a task."""
    return _module(TASKS / name / "task.py").Model()


def entry_model(name: str) -> nn.Module:
    """The entry for a task."""
    (path,) = (FOLDER / "level4" / name).glob("*.py")
    return _module(path).ModelNew()


def make_inputs(name: str, seed: int = 0, boundaries: Iterable[int] = (), **sizes: int) -> dict[str, Tensor]:
    """Standard normal inputs of a task in float32; steps are from 0.01 to 1.01, log-decays from -0.5 to 0.

    Args:
        name: The task.
        seed: Of the numbers.
        boundaries: Of packed sequences, from 0 to the number of tokens.
        **sizes: batch_size (of packed sequences it is 1), seq_len, num_heads, num_angles, key_dim (4 * num_angles if left away),
            value_dim, and mimo_rank.

    Returns:
        The arguments of the task's model, by name.
    """
    generator = torch.Generator().manual_seed(seed)
    batch, time, heads = 1 if "varlen" in name else sizes["batch_size"], sizes["seq_len"], sizes["num_heads"]
    angles, value = sizes["num_angles"], sizes["value_dim"]
    rank = (sizes["mimo_rank"],) if "mimo" in name else ()
    key = sizes.get("key_dim", 4 * angles)
    shapes = {
        **dict.fromkeys(("q", "k"), (batch, time, heads, *rank, key)),
        **dict.fromkeys(("adt", "dt", "trap"), (batch, time, heads)),
        **dict.fromkeys(("q_bias", "k_bias"), (heads, *rank, key)),
        **dict.fromkeys(("mimo_v", "mimo_o"), (heads, *rank, value)),
        "v": (batch, time, heads, value),
        "angles": (batch, time, heads, angles),
        "D": (heads,),
        "state": (batch, heads, value, key),
        "angle": (batch, heads, angles),
        "prev_k": (batch, heads, *rank, key),
        "prev_v": (batch, heads, value),
    }
    wanted = list(inspect.signature(truth_model(name).forward).parameters)
    inputs = {key: torch.randn(shapes[key], generator=generator) for key in wanted if key != "cu_seqlens"}
    inputs["dt"] = torch.rand(shapes["dt"], generator=generator) + 0.01
    inputs["adt"] = torch.rand(shapes["adt"], generator=generator) * -0.5
    if "cu_seqlens" in wanted:
        inputs["cu_seqlens"] = torch.tensor(list(boundaries) or [0, time], dtype=torch.int32)
    return {key: inputs[key] for key in wanted}


def results(name: str, model: nn.Module, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Outputs of a model, and for a task that asks for it the gradients of a fixed sum of them, by input.

    Args:
        name: The task.
        model: Its model, or the entry.
        inputs: Arguments by name, on any device and in any dtype.
    """
    differentiable = name in DIFFERENTIABLE
    given = {key: x.detach().requires_grad_(differentiable and x.is_floating_point()) for key, x in inputs.items()}
    out = model(**given)
    if not differentiable:
        return {f"out[{place}]": x for place, x in enumerate(out)}
    # Eighths are the same numbers in every dtype.
    cotangent = torch.randint(-8, 9, out.shape, generator=torch.Generator().manual_seed(1)).to(out) / 8
    wanted = {key: x for key, x in given.items() if x.requires_grad}
    return {"out": out.detach(), **dict(zip(wanted, torch.autograd.grad(out, list(wanted.values()), cotangent), strict=True))}
