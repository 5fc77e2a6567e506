"""From probes to calls: what a worker is asked."""

from __future__ import annotations

import torch

from kcbench.domain.probe import Probe
from kcbench.domain.task import Task
from kcbench.gates import PlanContext
from kcbench.numerics.formats import torch_dtype
from kcbench.oracle.draw import MODEL_SEED
from kcbench.oracle.eager import place
from kcbench.oracle.module import task_module
from kcbench.oracle.oracle import TaskOracle
from kcbench.runtime import Call, ModelSpec, ScalarArg, TensorArg


def plan_context(task: Task, *, device: str, interpreted: bool, redraw: bool) -> PlanContext:
    """What the gates plan from: a function of what a result records, so that a plan can be made again.

    Args:
        task: The task.
        device: ``cpu`` or ``cuda``.
        interpreted: Whether the submission runs on Triton's interpreter.
        redraw: Whether parameters are redrawn by name.
    """
    module = task_module(task, None)
    full = {name: value for name in task.contract.axes if isinstance(value := getattr(module, name, None), int)}
    return PlanContext(task.contract, device, interpreted, redraw, full_sizes=full)


def build_call(oracle: TaskOracle, probe: Probe, dtype: str = "") -> Call:
    """The call that a probe stands for, with the operands drawn; in another dtype than the probe's, if one is given."""
    contract, world = oracle.task.contract, probe.world
    inputs, parameters = oracle.inputs(probe), oracle.parameters(probe)
    if dtype and dtype != probe.dtype:
        inputs = place(inputs, torch_dtype(dtype))
        parameters = None if parameters is None else place(parameters, torch_dtype(dtype))
    wanted = oracle.gradient_names(probe) if probe.gradient else ()
    over_inputs = tuple(name.removeprefix("input:") for name in wanted if name.startswith("input:"))
    args = tuple(
        TensorArg(value, world.layouts.get(name, "contiguous"), name in over_inputs)
        if isinstance(value, torch.Tensor)
        else ScalarArg(value)
        for name, value in inputs.items()
    )
    return Call(
        model=ModelSpec(contract.init_args(probe.axes), dtype or probe.dtype, MODEL_SEED, world.instance),
        names=tuple(inputs),
        args=args,
        parameters=parameters,
        repeats=world.repeats,
        disturb=world.disturb,
        stream=world.stream,
        gradients=over_inputs,
        parameter_gradients=tuple(name.removeprefix("parameter:") for name in wanted if name.startswith("parameter:")),
        cotangents=oracle.cotangents(probe) if probe.gradient else (),
        regime=contract.precision,
    )
