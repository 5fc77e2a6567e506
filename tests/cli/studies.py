"""What the tests of both studies share: a stand-in for the study, and a look at the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Fake:
    """Stands in for a ``run_study``.

    Args:
        answer: Makes the record of a kernel, given its number among those of the call.
    """

    def __init__(self, answer: Callable[[int, Any], Any]) -> None:
        self.answer = answer
        self.given: list[list[str]] = []
        self.options: dict[str, Any] = {}

    def __call__(self, kernels: Sequence[Any], **options: Any) -> Iterator[Any]:
        self.given.append([item.id for item in kernels])
        self.options = options
        for number, item in enumerate(kernels):
            if options["stop"].is_set():
                return
            yield self.answer(number, item)


def row(out: str, name: str) -> list[str]:
    """The words of the only line that begins with a name."""
    [line] = [line for line in out.splitlines() if line.startswith(name)]
    return line.replace("\u00a0", " ").split()
