"""Benchmark sizes that fit: a task's own sizes, or the largest below them at which its tensors can be held and sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from kcbench.domain.contract import Axis
from kcbench.domain.task import Task
from kcbench.oracle.module import task_module

LIMIT = 512 << 20
"""Bytes of inputs and outputs together. Five trials are held by the grader, and every one of them travels to a worker."""


def fitting_sizes(task: Task, limit: int = LIMIT) -> dict[str, int] | None:
    """Sizes for full-size trials and timing.

    Args:
        task: The task.
        limit: Bytes of inputs and outputs together.

    Returns:
        None where the task's own sizes fit; or else sizes for the axes, the largest ones halved until they do.
    """
    module = task_module(task, None)
    sizes = {name: getattr(module, name) for name in task.contract.axes if isinstance(getattr(module, name, None), int)}
    if _bytes(task, None) <= limit:
        return None
    while _bytes(task, sizes) > limit:
        halves = {name: half for name, size in sizes.items() if (half := _half(task.contract.axes[name], size)) is not None}
        weights = {name: _bytes(task, {**sizes, name: half}) for name, half in halves.items()}
        now = _bytes(task, sizes)
        helpful = [name for name in halves if weights[name] < now]
        if not helpful:
            return sizes
        name = max(helpful, key=lambda name: sizes[name])
        sizes[name] = halves[name]
    return sizes


def _half(axis: Axis, size: int) -> int | None:
    """About half of a size, inside the axis's class; None where there is nothing smaller."""
    if not axis.varies:
        return None
    if axis.values:
        return max((value for value in axis.values if value <= size // 2), default=None)
    half = size // 2 // axis.multiple_of * axis.multiple_of
    return half if half >= max(axis.minimum, axis.gate) and half < size else None


def _bytes(task: Task, sizes: Mapping[str, int] | None) -> int:
    """Bytes of inputs and outputs, without making them."""
    module = task_module(task, sizes)
    try:
        with torch.device("meta"), torch.no_grad():
            inputs = module.get_inputs()
            outputs = module.Model(*module.get_init_inputs())(*inputs)
    except Exception:  # Models that read values cannot run without them: their inputs alone have to do.
        try:
            with torch.device("meta"):
                inputs, outputs = module.get_inputs(), ()
        except Exception:
            return 0
    return _size(inputs) + _size(outputs)


def _size(value: Any) -> int:
    if isinstance(value, Tensor):
        return math.prod(value.shape) * value.element_size()
    return sum(map(_size, value)) if isinstance(value, (list, tuple)) else 0
