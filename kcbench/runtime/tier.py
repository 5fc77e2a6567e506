"""Which sandbox a submission runs in on this machine."""

from __future__ import annotations

PROCESS = "process"
"""A process of its own: new session, resource limits, scrubbed environment, own working directory, killed with all that it
started. It contains accidents; a determined attacker runs as the same user as the grader."""


def sandbox_tier() -> str:
    """The tier in force, as it is written into each result."""
    return PROCESS
