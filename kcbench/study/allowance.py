"""Allowance: how long a kernel of a study may take before it counts as endless."""

from __future__ import annotations

SECONDS = 15.0
INTERPRETED_SECONDS = 150.0
SLOWDOWN = 20.0
"""How many times longer than an honest kernel it may take, beside those seconds."""


def allowance(honest: float, *, interpreted: bool) -> float:
    """Seconds of processor time.

    Args:
        honest: Those that an honest kernel takes for the same.
        interpreted: They are Triton kernels, for the interpreter.
    """
    return (INTERPRETED_SECONDS if interpreted else SECONDS) + SLOWDOWN * honest
