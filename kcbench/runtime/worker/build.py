"""Building of extensions in a worker: what to build for, and what a failed build comes down to."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

FAILED = "Error building extension"
"""How torch begins the message of a failed build."""

_SEARCHED = 1 << 20
_LONGEST = 400
# The first line that one of these finds is the cause; all after it follows from it. In the order gcc and clang, nvcc, ptxas,
# linker, a tool that is not there, ninja itself.
_ERRORS = re.compile(
    r"""
      (?P<place>[^\s:()]+(?::\d+|\(\d+\))(?::\d+)?)\s*:\s+(?:catastrophic\ |fatal\ )?error(?:\ \#\d+(?:-D)?)?\s*:\s+(?P<what>.+)
    | (?P<tool>ptxas\s+(?:.+?\s)?(?:error|fatal)\s*:\s+.+)
    | .*?(?P<link>undefined\ (?:reference|symbol).+|cannot\ find\ -l[^\s:]+|multiple\ definition\ of.+)
    | .*?(?P<absent>[\w+./-]+:\s+(?:command\ )?not\ found)
    | (?P<other>(?:nvcc|ninja|c\+\+|g\+\+|clang)\S*\s*(?::\s*)?(?:fatal|error)\b.+)
    """,
    re.VERBOSE,
)


def first_error(output: str) -> str:
    """The first error that a compiler, linker or build tool reports, in one line; empty where none is recognised.

    Args:
        output: What the build printed. Of a very long one only the beginning is read.
    """
    for line in output[:_SEARCHED].splitlines():
        match = _ERRORS.match(line.strip()[:2000])
        if match:
            place, what = match["place"], match["what"]
            found = f"{os.path.basename(place)}: error: {what}" if place else next(filter(None, match.groups()))
            return " ".join(found.split())[:_LONGEST]
    return ""


def brief(message: str) -> str:
    """An exception's message, where it is a failed build with the compiler's first error in place of all that was printed."""
    if not message.startswith(FAILED):
        return message
    head, _, output = message.partition(": ")
    found = first_error(output)
    return f"{head}: {found}" if found else message


def arch_list(capability: tuple[int, int], built_for: Sequence[str]) -> str:
    """``TORCH_CUDA_ARCH_LIST`` for one device: code for it and for nothing else, since every further target costs build time.

    Args:
        capability: The device's compute capability.
        built_for: Targets of this torch, such as ``sm_90``. A device beyond the newest one gets code that its driver translates,
            as torch does by default, since the compiler may not know it.
    """
    numbers = [int(found[1]) for name in built_for if (found := re.fullmatch(r"sm_(\d+)[af]?", name))]
    newest = max(((number // 10, number % 10) for number in numbers), default=capability)
    if capability <= newest:
        return f"{capability[0]}.{capability[1]}"
    return f"{newest[0]}.{newest[1]}+PTX"
