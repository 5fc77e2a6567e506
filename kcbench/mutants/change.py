"""Change: one fault, as replacements of nodes of a program's syntax tree by source text."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """What an operator proposes at one place."""

    description: str
    """What is changed, in one line."""
    line: int
    """Line of the original source."""
    edits: tuple[tuple[ast.AST, str], ...]
    """Nodes of the original tree, expressions or statements, and the text that each becomes; statements may become several."""
    prelude: str = ""
    """Statements for the top of the module, after its imports: helpers that the text needs."""
