"""Fences: small blocks of memory beside those that a call is likely to be given, which nobody may write to.

A kernel that stores beyond the end of its output spoils whatever lies there: mostly memory that nobody uses, so that nothing
shows. Fences stay where they are from call to call, so that the memory between them is handed out again and again.
"""

from __future__ import annotations

import bisect

import torch
from torch import Tensor

from .tensors import empty, fill_, host, memory, span

BYTES = 512
"""Of one fence: what CUDA's caching allocator hands out at least."""
REACH = 1024
"""How far behind a block a fence may begin and still count as beside it: allocators round sizes, and keep their own records."""
MOST = 256
_PATTERN = 0xA5

_cat = torch.cat
_uint8 = torch.uint8


class Fences:
    """The fences of one submission.

    Args:
        device: Where.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._fences: list[Tensor] = []
        self._starts: list[int] = []

    def beside(self, block: Tensor) -> None:
        """Put a fence behind a block, if there is none. It lies there if the allocator goes on where the block ends."""
        found = span(block)
        if found is None or len(self._fences) >= MOST:
            return
        place = bisect.bisect_left(self._starts, found.end)
        if place < len(self._starts) and self._starts[place] < found.end + REACH:
            return
        fence = empty((BYTES,), dtype=_uint8, device=self._device)
        own = span(fence)
        if own is not None:
            fill_(fence, _PATTERN)
            place = bisect.bisect_left(self._starts, own.start)
            self._starts.insert(place, own.start)
            self._fences.insert(place, fence)

    def broken(self) -> bool:
        """Whether anything was written to a fence since the last time; they are mended then."""
        if not self._fences:
            return False
        found = host(_cat(self._fences))
        if bytes(memory(found.tensor, found.nbytes)) == bytes([_PATTERN]) * found.nbytes:
            return False
        for fence in self._fences:
            fill_(fence, _PATTERN)
        return True
