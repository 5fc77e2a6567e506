"""``run.json``: what has to be known to make a run again."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcbench import __version__

if TYPE_CHECKING:
    from kcbench.domain.task import Task
    from kcbench.engine import Options


def run_header(
    options: Options, tasks: Mapping[str, Task], *, command: Sequence[str], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """The header of a run, as ``run.schema.json`` describes it.

    Args:
        options: How the run is made.
        tasks: The tasks that it scores on, by id.
        command: The command line; empty for a run from Python.
        extra: Options that :class:`kcbench.engine.Options` does not hold.
    """
    import torch

    from kcbench.runtime.tier import sandbox_tier

    limits = options.limits
    return {
        "format": 1,
        "kcbench_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(command),
        "seed": options.seed,
        "device": {"kind": options.device, "name": _device_name(options.device)},
        "sandbox": {"tier": sandbox_tier()},
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "triton": _version("triton"),
            "cuda": torch.version.cuda,
        },
        "tasks": {name: task.digest for name, task in sorted(tasks.items())},
        "bounds": options.bounds,
        "jobs": options.jobs,
        "legacy": list(options.legacy),
        "options": {
            **extra,
            "gates": list(options.gates),
            "timing": list(options.timing),
            "limits": {
                "call_seconds": limits.call_seconds,
                "load_seconds": limits.load_seconds,
                "reserve_seconds": limits.reserve_seconds,
                "total_seconds": limits.total_seconds,
                "memory_bytes": limits.memory_bytes,
            },
        },
    }


def command_line() -> list[str]:
    """The command line as it was typed, with the program's bare name."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _device_name(device: str) -> str:
    if device == "cuda":
        import torch

        return str(torch.cuda.get_device_name())
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine() or "unknown"
