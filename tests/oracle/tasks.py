"""Tasks made of a problem and a contract, without a reference: the model's own float64 twin stands in for one."""

from __future__ import annotations

from typing import Any

from kcbench.domain.check import contract_problems
from kcbench.domain.contract import Contract
from kcbench.domain.schema import validate
from kcbench.domain.task import Task
from kcbench.gates import PlanContext

PROBLEM = {"kind": "problem"}


def made(
    forward: str,
    *,
    init: str = "pass",
    inputs: str = "return [torch.rand(rows, width)]",
    arguments: str = "x",
    described: list[dict[str, Any]] | None = None,
    **changes: Any,
) -> Task:
    """A task with the axes ``rows`` (3) and ``width`` (5).

    Args:
        forward: Body of ``forward``.
        init: Body of the constructor, after that of the base class.
        inputs: Body of ``get_inputs``.
        arguments: Those of ``forward``.
        described: The contract's inputs.
        changes: Other parts of the contract.
    """

    def body(text: str, depth: int) -> str:
        return "\n".join(" " * depth + line for line in text.splitlines())

    code = (
        "import torch\nimport torch.nn as nn\n\nrows = 300\nwidth = 500\n\n\nclass Model(nn.Module):\n"
        f"    def __init__(self):\n        super().__init__()\n{body(init, 8)}\n\n"
        f"    def forward(self, {arguments}):\n{body(forward, 8)}\n\n\ndef get_inputs():\n{body(inputs, 4)}\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    data: dict[str, Any] = {
        "format": 1,
        "task": "level1/made",
        "title": "made",
        "category": "fused",
        "formula": "x",
        "axes": {"rows": {"gate": 3, "legacy": 6}, "width": {"gate": 5, "legacy": 7}},
        "init": [],
        "inputs": described or [{"name": "x", "shape": ["rows", "width"]}],
        "dtypes": ["float32"],
        "precision": "ieee",
        "nonfinite": "exact",
        "subnormals": "preserve",
        "deterministic": True,
        "provenance": "inferred",
        **changes,
    }
    validate(data, "contract", source="test")
    assert list(contract_problems(data)) == []
    return Task("level1/made", "made", "fused", "x", code, Contract.from_json(data))


def plan(task: Task) -> PlanContext:
    return PlanContext(task.contract)
