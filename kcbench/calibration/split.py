"""Split: the half of the tasks, or of the fault classes, that constants are not fitted on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def held_out(names: Iterable[str]) -> frozenset[str]:
    """Every second name in the order of their SHA-256.

    The halves are as equal as they can be, the same on every machine, and nobody's choice.

    Args:
        names: Names of tasks or of fault classes; what occurs several times counts once.
    """
    ordered = sorted(set(names), key=lambda name: (hashlib.sha256(name.encode()).hexdigest(), name))
    return frozenset(ordered[1::2])
