"""The checks about the device: where outputs lie, memory, copies, streams, resources."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kcbench.report.repro_parts.results import kept
from kcbench.report.repro_parts.script import (
    CALLS,
    DEVICE,
    EVIDENCE,
    CannotRunError,
    forward,
    inputs_of,
    listed,
    model_of,
    run_all,
    run_before,
    shown,
)


def check_device() -> str | None:
    """Is the output on another device?"""
    got = [str(output.device) for output in run_all()[shown()]]
    home = EVIDENCE.get("expected", DEVICE)
    print(f"devices of the outputs\n  expected  {home}\n  got       {got}")
    away = [device for device in got if device.partition(":")[0] != str(home).partition(":")[0]]
    return f"an output is on {away[0]} instead of {home}" if away else None


def need_cuda() -> None:
    """Stop where there is no GPU in use."""
    if DEVICE != "cuda":
        raise CannotRunError("this can only be seen on a GPU")


def check_memory() -> str | None:
    """Does the call take more device memory than allowed?"""
    need_cuda()
    run_before()
    call = CALLS[-1]
    model = model_of(call)
    inputs = inputs_of(call)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    with torch.no_grad():
        model.object(*inputs)
    torch.cuda.synchronize()
    peak, limit = torch.cuda.max_memory_allocated() - before, int(EVIDENCE["expected"])
    print(f"peak memory beside the inputs\n  allowed  {limit >> 20} MiB\n  taken    {peak >> 20} MiB")
    return f"the call takes {peak >> 20} MiB where {limit >> 20} MiB are allowed" if peak > limit else None


class CountHostCopies(TorchDispatchMode):
    """Counts copies from the GPU to the host."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and count it if it copies to the host."""
        result = func(*args, **(kwargs or {}))
        name = func._schema.name
        if name == "aten::_local_scalar_dense":
            self.count += args[0].is_cuda
        elif name == "aten::_to_copy":
            self.count += args[0].is_cuda and result.device.type == "cpu"
        elif name == "aten::copy_":
            self.count += args[1].is_cuda and args[0].device.type == "cpu"
        return result


def check_host_copy() -> str | None:
    """Does the call copy tensors to the host?"""
    need_cuda()
    run_before()
    call = CALLS[-1]
    model = model_of(call)
    inputs = inputs_of(call)
    with CountHostCopies() as counter:
        forward(model, inputs)
    print(f"copies from the GPU to the host: {counter.count}")
    return f"the call copies to the host {counter.count} times" if counter.count else None


@contextlib.contextmanager
def arriving_late(inputs: list[Any]) -> Iterator[None]:
    """On a side stream, fill the inputs only after a delay: whoever reads them on another stream reads NaN."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor) and value.is_floating_point()]
    values = [tensor.clone() for tensor in tensors]
    for tensor in tensors:
        tensor.fill_(math.nan)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(40_000_000)
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)
        yield
        side.synchronize()


def check_stream() -> str | None:
    """Does the call read its inputs before they are written on the current stream?"""
    need_cuda()
    call = CALLS[-1]
    model = model_of(call)
    wanted = kept(forward(model, inputs_of(call)))
    inputs = inputs_of(call)
    with arriving_late(inputs), torch.no_grad():
        outputs = kept(listed(model.object(*inputs)))
    for index, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
        size = float(want.double().abs().nan_to_num().max()) if want.numel() else 0.0
        if not torch.allclose(got.double(), want.double(), rtol=1e-2, atol=1e-2 * size, equal_nan=True):
            print(f"default stream  {want.flatten()[:6].tolist()}\nside stream     {got.flatten()[:6].tolist()}")
            return f"output {index} is wrong when the inputs arrive late on the current stream"
    return None


def check_resource() -> str | None:
    """Does a compiled kernel exceed the limit? Triton compiles for a GPU: elsewhere, the figures of the run are printed."""
    figures = {key: value for key, value in EVIDENCE.items() if key not in ("kind", "probe", "axes", "dtype")}
    print("as compiled in the run:\n" + "\n".join(f"  {key:9s} {value}" for key, value in figures.items()))
    if DEVICE != "cuda" or not CALLS:
        raise CannotRunError("compiling needs Triton and a GPU" if CALLS else "the finding names no call")
    from triton.runtime.jit import JITFunction

    compiled: dict[str, Any] = {}
    run_kernel = JITFunction.run

    def watched(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        result = run_kernel(kernel, *args, **kwargs)
        compiled[kernel.fn.__name__] = result
        return result

    JITFunction.run = watched
    run_all()
    torch.cuda.synchronize()
    limit, found = EVIDENCE.get("expected"), []
    for name, kernel in compiled.items():
        names = ("num_warps", "shared", "tmem_size")
        facts = {key: getattr(kernel.metadata, key, None) for key in names}
        facts |= {"n_regs": getattr(kernel, "n_regs", None), "n_spills": 4 * (getattr(kernel, "n_spills", None) or 0)}
        print(f"compiled here: {name} {facts}")
        if name == EVIDENCE.get("kernel"):
            found += [key for key, value in facts.items() if value == EVIDENCE.get("got")]
    return f"{EVIDENCE.get('kernel')} has {found[0]} = {EVIDENCE.get('got')} where the limit is {limit}" if found else None
