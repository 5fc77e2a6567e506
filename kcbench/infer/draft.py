"""A first contract for a problem, from its shapes, operations and parameters alone; nothing in it has been tried yet."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kcbench.infer.axes import layout, size_class, sized
from kcbench.infer.operands import describe_inputs, describe_parameters
from kcbench.infer.problem import Problem
from kcbench.infer.shrink import Shrunk, distinct, shrink
from kcbench.infer.trace import Trace, trace

CLASS_SECONDS = 25.0
"""Time for the classes of all axes together."""

_SCANS = frozenset({"cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"})
_PRODUCTS, _TOTALS = frozenset({"mm", "addmm", "bmm", "baddbmm", "mv"}), frozenset({"sum", "mean"})
_LIKELIHOODS = frozenset({"nll_loss_forward", "nll_loss2d_forward"})
_CATEGORIES = (
    ("recurrence", ("lstm", "gru", "rnn_tanh", "rnn_relu", "_thnn_fused_lstm_cell", "mkldnn_rnn_layer")),
    ("scan", tuple(_SCANS)),
    (
        "attention",
        ("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math", "scaled_dot_product_attention"),
    ),
    ("convolution", ("convolution", "convolution_overrideable", "mkldnn_convolution")),
    ("pooling", ("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d", "avg_pool1d")),
    ("matmul", ("mm", "addmm", "bmm", "baddbmm", "mv")),
    ("normalization", ("native_layer_norm", "native_group_norm", "native_batch_norm", "_softmax", "_log_softmax")),
    ("reduction", ("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "prod", "var", "std")),
)


@dataclass
class Draft:
    """A contract in the making."""

    problem: Problem
    shrunk: Shrunk
    trace: Trace
    """At gate sizes."""
    data: dict[str, Any]
    """The contract as JSON."""


def draft(problem: Problem, *, task_id: str) -> Draft:
    """Write the first contract of a problem.

    Args:
        problem: The problem; :meth:`Problem.check` has been called.
        task_id: Id of the task that it becomes.

    Raises:
        CannotShrinkError: No sizes were found at which the gates could run.
        ValueError: An input is of a kind that a contract cannot describe.
    """
    (first, value), *_ = problem.constants.items()
    while True:
        found = shrink(problem)
        shape = layout(problem, found.gate, sized(problem, found))
        held = {name for name, size in problem.constants.items() if found.gate[name] != size and name not in shape.axes}
        if not held:
            break
        # Only axes can be set in the task's own code: what else was shrunk would come back at its full size there.
        problem = problem.holding(held)
    found = distinct(problem, found, list(shape.axes))
    seen = trace(problem, found.gate, seconds=20.0, real=found.real)
    reasons = {"axes": f"gate sizes: {found.how}"}
    axes: dict[str, Any] = {}
    end = time.monotonic() + CLASS_SECONDS
    inputs_axes = {part for sizes in shape.shapes for size in sizes for part in str(size).split("*")}
    for name in shape.axes:
        if name in inputs_axes or problem.constants[name] > 8:
            axes[name] = size_class(problem, found, name, seconds=max(1.0, end - time.monotonic()))
        else:
            axes[name] = {"gate": found.gate[name], "legacy": found.legacy[name], "varies": False}
    inputs, input_reasons = describe_inputs(problem, found.gate, shape.shapes)
    model = problem.model(found.gate)
    parameters, parameter_reasons = describe_parameters(model)
    kinds = seen.kinds
    entropy = "_log_softmax" in kinds and bool(kinds & _LIKELIHOODS)
    spreads = any("convolution" in kind for kind in kinds) or bool(kinds & _SCANS)
    regroups = bool(kinds & _PRODUCTS and kinds & _TOTALS)
    if spreads:
        reasons["nonfinite"] = "convolutions by transform and chunkwise scans may carry a NaN to more outputs than direct ones"
    elif entropy:
        reasons["nonfinite"] = "a shift by the largest makes NaN of an infinite prediction, and a log-sum-exp may know infinities"
    elif regroups:
        reasons["nonfinite"] = "weights may be added up first: an infinity then meets their sum, not products of both signs"
    reasons |= {
        "dtypes": "the problem is stated in float32",
        "precision": "float32 is IEEE float32 unless a problem says otherwise",
        "memory_factor": "generous: copies, workspaces and explicit im2col are allowed",
        **input_reasons,
        **parameter_reasons,
    }
    data: dict[str, Any] = {
        "format": 1,
        "task": task_id,
        "title": problem.name.replace("_", " ").strip() or problem.name,
        "category": category(seen),
        "formula": "what Model.forward computes",
        "axes": axes or {first: {"gate": value, "legacy": value, "varies": False}},
        "init": list(shape.init),
        "inputs": inputs,
        "parameters": parameters,
        "dtypes": ["float32"],
        "precision": "ieee",
        "reduction": None,
        "designed": [],
        "nonfinite": "at_least" if spreads or entropy or regroups else "exact",
        "subnormals": "preserve",
        "deterministic": True,
        "view": False,
        "gradient": None,
        "memory_factor": 16.0,
        "untestable": {},
        "reasons": reasons,
        "provenance": "inferred",
    }
    return Draft(problem, found, seen, data)


def category(seen: Trace) -> str:
    """The kind of task, from its operations: one family, or ``fused``."""
    families = [name for name, kinds in _CATEGORIES if seen.kinds & set(kinds)]
    if not families:
        return "activation"
    if families[0] in ("recurrence", "scan", "attention") or len(seen.operations) <= 2 or len(families) == 1 == len(seen.kinds):
        return families[0]
    return "fused"
