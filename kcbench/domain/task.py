"""Task: what is to be computed, with the contract that a kernel for it owes."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcbench.domain.contract import Contract
from kcbench.syntax import parse_module


def settable_constants(code: str) -> set[str]:
    """Names of the module constants of a task's code that a grader can set: each assigned alone, at the top.

    Args:
        code: Source text of ``task.py``; it is not run.

    Raises:
        SyntaxError: The text is not Python.
    """
    nodes = (node for node in parse_module(code).body if isinstance(node, ast.Assign) and len(node.targets) == 1)
    return {node.targets[0].id for node in nodes if isinstance(node.targets[0], ast.Name)}


@dataclass(frozen=True)
class Task:
    """A KernelBench-format problem (``Model``, ``get_inputs``, ``get_init_inputs``) and its contract."""

    id: str
    """``<level>/<name>``, for example ``level1/softmax``."""
    title: str
    category: str
    """``activation``, ``reduction``, ``normalization``, ``matmul``, ``convolution``, ``pooling``, ``scan``, ``loss``,
    ``attention``,
    ``fused`` or ``recurrence``."""
    formula: str
    """The mathematics in one line of plain text."""
    code: str
    """Source text of ``task.py``: all that a submission's author needs."""
    contract: Contract
    folder: Path | None = None
    reference: Path | None = None
    """The grader's float64 reference file."""

    @property
    def summary(self) -> str:
        """What it computes, in one sentence: the first paragraph of its model's docstring; without one its title."""
        try:
            body = parse_module(self.code).body
        except (SyntaxError, ValueError):
            body = []
        models = (node for node in body if isinstance(node, ast.ClassDef) and node.name == "Model")
        text = next((ast.get_docstring(node) or "" for node in models), "")
        return " ".join(text.partition("\n\n")[0].split()) or f"{self.title}."

    @property
    def level(self) -> str:
        return self.id.split("/", 1)[0]

    @property
    def name(self) -> str:
        return self.id.split("/", 1)[1]

    @property
    def digest(self) -> str:
        """SHA-256 over code, contract and reference: what caches and journals key on."""
        digest = hashlib.sha256(self.code.encode())
        digest.update(self.contract.digest.encode())
        if self.reference is not None:
            digest.update(self.reference.read_bytes())
        return digest.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The task as data, without the grader-only reference."""
        return {
            "id": self.id,
            "title": self.title,
            "category": self.category,
            "formula": self.formula,
            "code": self.code,
            "contract": dict(self.contract.raw),
        }
