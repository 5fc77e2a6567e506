"""Changes around a whole kernel: its ``forward`` becomes ``_honest``, and a new one calls that and spoils what goes in or out."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Sequence

from kcbench.mutants.change import Change
from kcbench.mutants.program import Program

Case = tuple[str, str]
"""What is wrong, in one line, and the body of the new ``forward``."""


def wrapping(cases: Sequence[Case], *, prelude: str = "") -> Callable[[Program], Iterator[Change]]:
    """Changes that wrap ``forward``.

    A body is text in which ``$args`` stands for the arguments, ``$x`` for the first of them, and ``$result`` for the honest
    result.

    Args:
        cases: Descriptions and bodies.
        prelude: Helpers that the bodies need.
    """

    def changes(program: Program) -> Iterator[Change]:
        forward = program.forward
        if forward is None:
            return
        names = [argument.arg for argument in forward.args.args[1:]]
        if not names:
            return
        renamed = ast.unparse(forward).replace("def forward(", "def _honest(", 1)
        for description, body in cases:
            text = body.replace("$result", "self._honest($args)").replace("$args", ", ".join(names)).replace("$x", names[0])
            new = f"def forward(self, {', '.join(names)}):\n{textwrap.indent(textwrap.dedent(text).strip(), '    ')}"
            yield Change(description, forward.lineno, ((forward, f"{renamed}\n{new}"),), prelude)

    return changes
