"""Failure: an exception of kcbench's own, told in one line."""

from __future__ import annotations


def told(error: Exception) -> str:
    """Its type and what it says; of one in a fork, which comes with its traceback, also the last line of that."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0] if len(lines) == 1 else f'{lines[0]} {lines[-1]}'}"
