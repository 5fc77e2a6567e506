"""Exit codes."""

REFUSED = 1
"""A submission was refused and ``--strict`` was given, or the red team found a fault, or a committed figure does not hold."""
BAD_INPUT = 2
"""Nothing could be done with what was given."""
BUG = 3
"""The harness failed: nobody is to blame but kcbench."""
INTERRUPTED = 130
"""Stopped by Ctrl-C."""
BROKEN_PIPE = 141
"""The reader of stdout went away."""
