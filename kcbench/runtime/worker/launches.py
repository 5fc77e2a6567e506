"""Records which Triton kernels a submission launches: argument types, constants, options and grid."""

from __future__ import annotations

import contextlib
import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

DISTINCT = 32
"""Different launches kept: a kernel compiled for other constants or types is a different one."""
LOOKED_AT = 4096
"""Launches looked at: a submission that launches millions is not slowed by being watched."""

_DTYPES = {
    "bool": "i1",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}


class Recorder:
    """Hooks Triton's two ways to run a kernel; does nothing where Triton is not installed."""

    def __init__(self) -> None:
        self.kernels: list[Any] = []
        """Every compiled-mode kernel object that was made, in order."""
        self._records: dict[str, dict[str, Any]] = {}
        self._looked_at = 0
        self._fresh: list[dict[str, Any]] = []
        self._trials = 0
        self._lock = threading.Lock()

    def install(self) -> None:
        """Hook Triton; before the submission is imported."""
        try:
            from triton.runtime.jit import JITFunction
        except ImportError:
            return
        self._hook_compiled(JITFunction)
        try:
            from triton.runtime.autotuner import Autotuner
        except ImportError:
            return
        self._hook_trials(Autotuner)
        try:
            from triton.runtime.interpreter import InterpretedFunction
        except ImportError:
            return
        self._hook_interpreted(InterpretedFunction)

    def drain(self) -> list[dict[str, Any]]:
        """The launches that are new since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, []
        return fresh

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Look at no launch: what is timed must not be slowed by being watched."""
        self._trials += 1
        try:
            yield
        finally:
            self._trials -= 1

    def _hook_compiled(self, kind: Any) -> None:
        make, run = kind.__init__, kind.run

        def __init__(kernel: Any, *args: Any, **kwargs: Any) -> None:
            make(kernel, *args, **kwargs)
            self.kernels.append(kernel)

        def hooked(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            compiled = run(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            if not warmup:
                self._note(kernel.fn, args, kwargs, grid, compiled)
            return compiled

        kind.__init__ = __init__
        kind.run = hooked

    def _hook_trials(self, kind: Any) -> None:
        """Launches that only try a configuration out are not the submission's choice."""
        bench = kind._bench

        def hooked(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            with self.paused():
                return bench(tuner, *args, **kwargs)

        kind._bench = hooked

    def _hook_interpreted(self, kind: Any) -> None:
        run = kind.run

        def hooked(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if not warmup:
                self._note(kernel.fn, args, kwargs, grid, None)
            return run(kernel, *args, grid=grid, warmup=warmup, **kwargs)

        kind.run = hooked

    def _note(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any, compiled: Any) -> None:
        """Remember a launch; watching must never disturb it, so any failure leaves it unrecorded."""
        if self._looked_at >= LOOKED_AT or self._trials:
            return
        try:
            record = describe(fn, args, kwargs)
            key = json.dumps([record["line"], *(record[k] for k in ("kernel", "types", "constants", "options"))], sort_keys=True)
            with self._lock:
                self._looked_at += 1
                known = self._records.get(key)
                if known is None and len(self._records) < DISTINCT:
                    self._records[key] = record
                    record["grid"] = _grid(grid, fn, args, kwargs)
                    record["measured"] = _measured(compiled)
                    self._fresh.append(record)
        except Exception:
            return


def describe(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """A launch as JSON-ready data: what the compiler would specialise on."""
    parameters = inspect.signature(fn).parameters
    bound: dict[str, Any] = dict(zip(parameters, args, strict=False))
    options = {}
    for name, value in kwargs.items():
        if name in parameters:
            bound[name] = value
        elif isinstance(value, int | float | str) and name not in ("debug", "instrumentation_mode"):
            options[name] = value
    types: dict[str, str] = {}
    constants: dict[str, Any] = {}
    hints: dict[str, str] = {}
    for name, parameter in parameters.items():
        value = bound.get(name, parameter.default)
        if "constexpr" in str(parameter.annotation):
            types[name], constants[name] = "constexpr", _constant(value)
        else:
            types[name], hints[name] = _type_and_hint(value)
            if types[name] == "constexpr":
                constants[name] = None
    return {
        "kernel": fn.__name__,
        "line": fn.__code__.co_firstlineno,
        "types": types,
        "constants": constants,
        "hints": hints,
        "options": options,
    }


def _type_and_hint(value: Any) -> tuple[str, str]:
    """Triton's type string, and ``one`` or ``aligned`` where the compiler may use that."""
    if value is None:
        return "constexpr", ""
    if isinstance(value, bool):
        return "i1", ""
    if isinstance(value, int):
        width = "i32" if -(1 << 31) <= value < 1 << 31 else "i64" if value < 1 << 63 else "u64"
        return width, "one" if value == 1 else "aligned" if value % 16 == 0 else ""
    if isinstance(value, float):
        return "fp32", ""
    block = getattr(value, "block_shape", None)
    if block is not None:
        return f"tensordesc<{_dtype(value.base)}{[int(size) for size in block]}>", ""
    if hasattr(value, "data_ptr"):
        return "*" + _dtype(value), "aligned" if value.data_ptr() % 16 == 0 else ""
    return f"?{type(value).__name__}", ""


def _dtype(value: Any) -> str:
    name = str(value.dtype).split(".")[-1]
    return _DTYPES.get(name, name)


def _constant(value: Any) -> Any:
    """A compile-time constant as JSON: numbers, text and None as they are, dtypes and functions by name."""
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_constant(item) for item in value]
    if type(value).__name__ == "dtype":
        return {"dtype": _DTYPES.get(str(value).split(".")[-1], str(value))}
    if hasattr(value, "fn") and hasattr(value, "__name__"):
        return {"function": str(value.__name__)}
    return {"unknown": type(value).__name__}


def _grid(grid: Any, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[int]:
    if callable(grid):
        grid = grid({**dict(zip(inspect.signature(fn).parameters, args, strict=False)), **kwargs})
    return [int(size) for size in (grid if isinstance(grid, tuple | list) else (grid,))]


def _measured(compiled: Any) -> dict[str, Any] | None:
    """What the driver says of a kernel that was compiled and loaded on this machine."""
    if compiled is None or not hasattr(compiled, "metadata"):
        return None
    metadata = compiled.metadata
    found = resources(metadata)
    found["target"] = f"sm_{metadata.target.arch}"
    registers, spills = getattr(compiled, "n_regs", None), getattr(compiled, "n_spills", None)
    if not isinstance(registers, int) or not isinstance(spills, int):
        return None
    # Triton counts spills in words of four bytes.
    found.update(n_regs=registers, n_spills=4 * spills)
    return found


def resources(metadata: Any) -> dict[str, Any]:
    """The plain numbers of a compiled kernel's metadata."""
    found: dict[str, Any] = {}
    for name in ("shared", "tmem_size", "num_warps", "num_stages", "num_ctas", "global_scratch_size"):
        value = getattr(metadata, name, None)
        if isinstance(value, int):
            found[name] = value
    cluster = getattr(metadata, "cluster_dims", None)
    if isinstance(cluster, tuple | list):
        found["cluster_dims"] = [int(size) for size in cluster]
    return found
