"""How fast a card could be at best: bytes over memory bandwidth."""

from __future__ import annotations

import re

CARDS: tuple[tuple[str, float], ...] = (
    (r"\bGB300\b|\bGB200\b|\bB[123]00\b", 8.0),
    (r"\bGH200\b", 4.9),
    (r"\bH200\b", 4.8),
    (r"\bH20\b", 4.0),
    (r"\bH100 NVL\b", 3.94),
    (r"\bH[18]00\b", 3.35),
    (r"\bA[18]00\b", 2.04),
    (r"\bV100\b|\bV100S\b", 1.14),
    (r"\bA30\b", 0.934),
    (r"\bA40\b|\bA6000\b", 0.769),
    (r"\bA10G?\b", 0.601),
    (r"\bL40S?\b", 0.865),
    (r"\bL4\b", 0.301),
    (r"\bT4\b", 0.321),
    (r"\bRTX 6000 Ada\b", 0.961),
    (r"\bRTX 5090\b", 1.8),
    (r"\bRTX 4090\b", 1.01),
    (r"\bRTX 3090\b", 1.01),
)
"""Card names and peak memory bandwidth in TB/s by the vendors' datasheets, the largest where a name covers several models:
a floor that is too low accuses nobody."""

RESIDENT = 4
"""Operands of less than so many times the second-level cache have no floor: too large a part of them may stay in it."""


def bandwidth(device: str) -> float | None:
    """Peak memory bandwidth of a card by its name, in bytes per second; None for an unknown one.

    Args:
        device: What the card calls itself, such as ``NVIDIA H200``.
    """
    return next((found * 1e12 for name, found in CARDS if re.search(name, device)), None)


def floor_ms(nbytes: int, cache: int, device: str) -> float | None:
    """Milliseconds that no honest call undercuts: what cannot be in the cache, over the card's bandwidth.

    A kernel that need not read everything (a gather, a result that algebra gives away) can be faster, and be right.

    Args:
        nbytes: Bytes that a call reads or writes at least once.
        cache: Bytes of the second-level cache. What a call wrote may still be there at its end, so that much is taken off.
        device: What the card calls itself.

    Returns:
        The floor; None for an unknown card, and where the operands are small beside the cache.
    """
    rate = bandwidth(device)
    if rate is None or nbytes < RESIDENT * cache:
        return None
    return (nbytes - cache) / rate * 1e3
