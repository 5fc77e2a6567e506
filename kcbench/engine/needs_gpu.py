"""Whether an exception on a machine without a GPU says no more than that there is none."""

from __future__ import annotations

import re

from kcbench.domain.observation import Raised

_WORDS = re.compile(r"cuda|\bgpu\b|nvidia", re.IGNORECASE)


def needs_gpu(raised: Raised | None) -> bool:
    """Whether a kernel refuses to work without CUDA: its message speaks of it, or the line that raised does.

    Kernels often begin with ``assert x.is_cuda``. On a CPU that is no fault, and no verdict either.

    Args:
        raised: What left the submission's code.
    """
    if raised is None:
        return False
    return bool(_WORDS.search(raised.message) or _WORDS.search(_last_line(raised.trace)))


def _last_line(trace: str) -> str:
    """The source line at the end of a traceback."""
    lines = [line.strip() for line in trace.splitlines() if line.startswith("    ")]
    return next((line for line in reversed(lines) if line.strip("^~ ")), "")
