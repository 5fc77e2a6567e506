"""Why a kernel's resources are refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One reason."""

    code: str
    """What RES-02 calls it, ``registers``, ``shared``, ``tmem``, ``tmem-leak`` or ``spill-storm``, and ``cluster``."""
    kind: str
    """What exactly. Of Tensor Memory: ``over``, ``over-warps``, ``over-residents``, ``size``, ``after-relinquish``, ``leak``,
    ``twice``, ``columns-differ``, ``use-after-free``, ``groups``; otherwise the code."""
    text: str
    """One sentence that explains it, with lines where there are any."""
    line: int = 0
    """In the text that was read; 0 where it is about no line."""
    got: int = 0
    expected: int = 0
    """The limit that was broken."""
