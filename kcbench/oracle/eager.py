"""The task's eager model: trusted code, run in the grader's process, observed as a submission would be."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from kcbench.domain.observation import Observation, Raised, TensorRecord
from kcbench.numerics.formats import encode


def as_tuple(value: Any) -> tuple[Tensor, ...]:
    """A model's return value as a tuple of tensors."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def place(args: Mapping[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    """Copies of inputs, the floating ones in a dtype: a model may write into what it is given."""
    return {
        name: value.to(dtype if value.is_floating_point() else value.dtype, copy=True) if isinstance(value, Tensor) else value
        for name, value in args.items()
    }


def load(model: nn.Module, parameters: Mapping[str, Tensor] | None) -> nn.Module:
    """Copy parameters and buffers into a model by name, in place."""
    if parameters is not None:
        state = model.state_dict()
        with torch.no_grad():
            for name, value in parameters.items():
                state[name].copy_(value)
    return model


def observe(
    model: nn.Module, args: Mapping[str, Any], *, gradients: Sequence[str] = (), cotangents: Sequence[Tensor] = ()
) -> Observation:
    """Run a trusted model once; an exception becomes the observation's ``raised``.

    Args:
        model: The model, on the CPU and in its dtype.
        args: Inputs by name, in the order of ``forward``.
        gradients: ``input:<name>`` and ``parameter:<name>`` to differentiate with respect to.
        cotangents: One per output, used when ``gradients`` is not empty.
    """
    start = time.perf_counter()
    try:
        if gradients:
            value: Any = None

            def forward(*operands: Any) -> tuple[Tensor, ...]:
                nonlocal value
                value = model(*operands)
                return as_tuple(value)

            outputs, found = vjp(forward, args, dict(model.named_parameters()), gradients, cotangents)
        else:
            with torch.no_grad():
                value = model(*args.values())
            outputs, found = as_tuple(value), {}
        records = tuple(record(output) for output in outputs)
        grads = {name: None if grad is None else record(grad) for name, grad in found.items()}
    except Exception as error:
        return Observation("raised", raised=Raised(type(error).__name__, str(error)))
    return Observation(
        "ok",
        outputs=records,
        structure="tensor" if isinstance(value, Tensor) else "tuple",
        gradient_status="ok" if gradients else "not-asked",
        gradients=grads,
        seconds=time.perf_counter() - start,
    )


def vjp(
    function: Callable[..., tuple[Tensor, ...]],
    args: Mapping[str, Any],
    parameters: Mapping[str, Tensor],
    names: Sequence[str],
    cotangents: Sequence[Tensor],
) -> tuple[tuple[Tensor, ...], dict[str, Tensor | None]]:
    """Outputs and the VJPs by name; None where autograd finds no path.

    ``parameters`` must be the leaves that ``function`` itself reads.
    """
    wanted_inputs = {name.removeprefix("input:") for name in names if name.startswith("input:")}
    leaves = {name: value.detach().requires_grad_(True) if name in wanted_inputs else value for name, value in args.items()}
    outputs = function(*leaves.values())
    targets = [
        leaves[n.removeprefix("input:")] if n.startswith("input:") else parameters[n.removeprefix("parameter:")] for n in names
    ]
    pairs = [
        (output, cotangent.to(output)) for output, cotangent in zip(outputs, cotangents, strict=True) if output.requires_grad
    ]
    if not pairs:
        return outputs, dict.fromkeys(names)
    grads = torch.autograd.grad([p[0] for p in pairs], targets, [p[1] for p in pairs], allow_unused=True)
    return tuple(output.detach() for output in outputs), dict(zip(names, grads, strict=True))


def record(tensor: Tensor) -> TensorRecord:
    """A tensor's bytes and facts."""
    tensor = tensor.detach()
    return TensorRecord(
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        data=encode(tensor),
        device=str(tensor.device),
        stride=tuple(tensor.stride()),
    )
