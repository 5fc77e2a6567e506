"""What a target offers: the limits of one multiprocessor and of one block on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kcbench.errors import KcbenchError


@dataclass(frozen=True)
class Limits:
    """Hardware limits of one target (CUDA C++ Programming Guide, table of technical specifications per compute capability)."""

    shared: int
    """Largest shared memory per block after opt-in, in bytes."""
    tensor_memory: int
    """Tensor Memory columns per multiprocessor; 0 where there is none."""
    multiprocessor_shared: int
    """Shared memory per multiprocessor, in bytes."""
    blocks: int = 32
    """Blocks that one multiprocessor can hold at a time."""
    warps: int = 64
    """Warps that one multiprocessor can hold at a time."""
    registers_per_thread: int = 255
    registers_per_block: int = 65536
    threads: int = 1024
    cluster: int = 8


LIMITS = {
    "sm_80": Limits(shared=163 << 10, tensor_memory=0, multiprocessor_shared=164 << 10, cluster=1),
    "sm_86": Limits(shared=99 << 10, tensor_memory=0, multiprocessor_shared=100 << 10, blocks=16, warps=48, cluster=1),
    "sm_89": Limits(shared=99 << 10, tensor_memory=0, multiprocessor_shared=100 << 10, blocks=24, warps=48, cluster=1),
    "sm_90": Limits(shared=227 << 10, tensor_memory=0, multiprocessor_shared=228 << 10, cluster=16),
    "sm_100": Limits(shared=227 << 10, tensor_memory=512, multiprocessor_shared=228 << 10, cluster=16),
    "sm_103": Limits(shared=227 << 10, tensor_memory=512, multiprocessor_shared=228 << 10, cluster=16),
    "sm_120": Limits(shared=99 << 10, tensor_memory=0, multiprocessor_shared=100 << 10, blocks=24, warps=48),
}
SPILL_STORM = 4096
"""Spilled bytes per thread above which a kernel waits for its own registers; the public tcgen05 blocker spills 12 KB and more."""
COLUMNS_LEAST = 32
"""Fewest columns that Tensor Memory is handed out in."""
COLUMNS_MOST = 512
"""Columns of Tensor Memory, where there is any."""
RESERVED_SHARED = 1024
"""Bytes of shared memory that the system takes per block from sm_80 on."""
_REGISTER_UNIT = 256
"""Registers that a warp is given at a time."""
_TARGET = re.compile(r"(sm_\d{2,3})[af]?")


def base_target(text: str) -> str:
    """``sm_100`` for ``sm_100``, ``sm_100a`` and ``sm_100f``; empty for what names no target."""
    match = _TARGET.fullmatch(text)
    return match[1] if match else ""


def known_target(text: str) -> str:
    """The target that a user named, without the letter of its variant.

    Raises:
        KcbenchError: Its limits are not known.
    """
    base = base_target(text.strip())
    if base not in LIMITS:
        raise KcbenchError(f"the limits of target {text.strip()!r} are not known", fix=f"known: {', '.join(LIMITS)}")
    return base


def legal_columns(columns: int) -> bool:
    """Whether Tensor Memory can be allocated in this many columns: a power of two from 32 to 512."""
    return COLUMNS_LEAST <= columns <= COLUMNS_MOST and columns & (columns - 1) == 0


def residents(limits: Limits, *, threads: int, registers: int, shared: int) -> dict[str, int]:
    """How many blocks of a kernel one multiprocessor could hold, by what bounds it. Unknown figures are 0 and bound nothing.

    Args:
        limits: The target's.
        threads: Threads per block.
        registers: Registers per thread.
        shared: Bytes of shared memory per block.
    """
    warps = -(-threads // 32)
    found = {"blocks": limits.blocks}
    if warps:
        found["threads"] = limits.warps // warps
    if warps and registers:
        of_warp = -(-registers * 32 // _REGISTER_UNIT) * _REGISTER_UNIT
        found["registers"] = limits.registers_per_block // (of_warp * warps)
    if shared:
        found["shared"] = limits.multiprocessor_shared // (shared + RESERVED_SHARED)
    return found
