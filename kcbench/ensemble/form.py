"""Putting submissions together: what the variants of one task share, and how pieces of text become a file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from kcbench.ensemble.variant import TORCH, TRITON, Variant

# What is imported, in order, where the text has a match for a pattern.
_IMPORTS = (
    (r"\bmath\.", "import math\n"),
    (r".", "import torch\nimport torch.nn as nn"),
    (r"\bF\.", "import torch.nn.functional as F"),
    (r"@triton\.jit", "import triton\nimport triton.language as tl"),
)


@dataclass(frozen=True)
class Form:
    """The part of a submission that its task fixes."""

    task: str
    arguments: str
    """Parameters of ``forward``, annotated."""
    init: str = ""
    """The constructor, where the task has one."""

    def torch(
        self, blocks: str, body: str, *helpers: str, constants: Mapping[str, object] | None = None, methods: str = ""
    ) -> Variant:
        """A variant in plain torch.

        Args:
            blocks: Names of its building blocks, separated by blanks.
            body: Statements of ``forward``.
            helpers: Definitions at module level, in order.
            constants: Module-level constants by name.
            methods: Further methods of the class.
        """
        return self._variant(TORCH, blocks, body, helpers, constants, methods)

    def triton(self, blocks: str, body: str, *helpers: str, constants: Mapping[str, object] | None = None) -> Variant:
        """A variant with Triton kernels among its helpers."""
        return self._variant(TRITON, blocks, body, helpers, constants, "")

    def _variant(
        self,
        language: str,
        blocks: str,
        body: str,
        helpers: tuple[str, ...],
        constants: Mapping[str, object] | None,
        methods: str,
    ) -> Variant:
        names = tuple(blocks.split())
        source = self._source(body, helpers, constants or {}, methods)
        return Variant(f"{self.task}/{language}-{'-'.join(names)}", self.task, language, source, names)

    def _source(self, body: str, helpers: tuple[str, ...], constants: Mapping[str, object], methods: str) -> str:
        members = [
            text for text in (self.init, methods, f"def forward(self, {self.arguments}) -> torch.Tensor:\n{_block(body)}") if text
        ]
        module = "class ModelNew(nn.Module):\n" + "\n\n".join(_block(member) for member in members)
        settings = "\n".join(f"{name} = {value!r}" for name, value in constants.items())
        text = "\n\n\n".join((*(textwrap.dedent(helper).strip() for helper in helpers), module))
        head = "\n".join(line for pattern, line in _IMPORTS if re.search(pattern, text))
        # Triton does not let a kernel read a global that is not a constexpr: constants reach kernels as arguments.
        return f"{head}\n\n{settings}\n\n\n{text}\n" if settings else f"{head}\n\n\n{text}\n"


def _block(text: str) -> str:
    """The text as the body of something: one level deeper, without blank lines around it."""
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
