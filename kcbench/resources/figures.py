"""What a compiled kernel uses, as numbers, and whether a target has that much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kcbench.resources.limits import SPILL_STORM, Limits, legal_columns
from kcbench.resources.problem import Problem


@dataclass(frozen=True)
class Figures:
    """A kernel's resources; 0 where something is not used or not known."""

    registers: int = 0
    """Per thread."""
    spills: int = 0
    """Bytes per thread."""
    shared: int = 0
    """Bytes per block."""
    threads: int = 0
    """Per block."""
    columns: int = 0
    """Tensor Memory columns per block, as the compiler states them."""
    cluster: int = 0
    """Blocks per cluster."""

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, Any]) -> Figures:
        """From what Triton says of a kernel, with ``n_regs`` and ``n_spills`` (bytes) as kcbench adds them."""

        def number(name: str) -> int:
            value = metadata.get(name)
            return value if isinstance(value, int) else 0

        blocks = number("num_ctas") or 1
        for size in metadata.get("cluster_dims") or ():
            blocks = max(blocks, size) if isinstance(size, int) else blocks
        return cls(
            registers=number("n_regs"),
            spills=number("n_spills"),
            shared=number("shared"),
            threads=32 * number("num_warps"),
            columns=number("tmem_size"),
            cluster=blocks,
        )


def figure_problems(figures: Figures, limits: Limits) -> Iterator[Problem]:
    """Each limit of a target that a kernel breaks."""

    def problem(code: str, text: str, got: int, expected: int) -> Problem:
        return Problem(code, code, text, got=got, expected=expected)

    registers, threads = figures.registers, figures.threads
    if registers > limits.registers_per_thread or registers * threads > limits.registers_per_block:
        text = f"{registers} registers a thread times {threads} threads exceed {limits.registers_per_block} a block"
        yield problem("registers", text, registers, limits.registers_per_thread)
    if threads > limits.threads:
        yield problem("registers", f"{threads} threads a block exceed {limits.threads}", threads, limits.threads)
    if figures.shared > limits.shared:
        text = f"{figures.shared} bytes of shared memory exceed {limits.shared}"
        yield problem("shared", text, figures.shared, limits.shared)
    columns = figures.columns
    if columns > limits.tensor_memory:
        yield problem("tmem", f"{columns} Tensor Memory columns exceed {limits.tensor_memory}", columns, limits.tensor_memory)
    elif columns and not legal_columns(columns):
        yield problem("tmem", f"{columns} Tensor Memory columns are not a power of two of at least 32", columns, 32)
    if figures.spills > SPILL_STORM:
        yield problem("spill-storm", f"{figures.spills} bytes a thread are spilled", figures.spills, SPILL_STORM)
