"""What an author of a task gets: a first contract, and whether its clauses are alive."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcbench.domain.contract import Contract
from kcbench.errors import KcbenchError
from kcbench.infer.authoring import dead_clauses, first_contract
from kcbench.tasks import load_task

CODE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """Twice the input, and a bias.

    Not much more than that.

    y[i, j] = 2 x[i, j]
      + bias[j]
    """

    def __init__(self, dim: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x + self.bias


batch_size = 1024
dim = 4096


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return [dim]
'''


def write(folder: Path, code: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "task.py").write_text(code)
    return folder


def test_a_first_contract(tmp_path: Path) -> None:
    data = first_contract(write(tmp_path / "level1" / "007_twice_and_bias", CODE))
    contract = Contract.from_json(data)
    assert (data["task"], data["title"], data["formula"]) == (
        "level1/007_twice_and_bias",
        "Twice and bias",
        "y[i, j] = 2 x[i, j] + bias[j]",
    )
    assert contract.kernelbench == (1, 7)
    assert contract.provenance == "inferred"
    assert contract.init == ({"axis": "dim"},)
    assert contract.gradient is not None and contract.gradient.parameters == ("bias",)
    assert "CMP-01" not in contract.untestable
    assert all(axis.admits(size) for axis, size in zip(contract.axes.values(), (1024, 4096), strict=True)), "the task's own sizes"
    assert "recipe" not in data["inputs"][0], "what is the default is left away"


def test_a_name_without_a_number_stands_for_no_problem(tmp_path: Path) -> None:
    assert "compat" not in first_contract(write(tmp_path / "level1" / "twice", CODE))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("torch.rand(batch_size, dim)", "torch.rand(1024, dim)", "a size has no name of its own"),
        ("batch_size = 1024\ndim = 4096", "batch_size = dim = 1024", "a size has no name of its own, and was called batch_size"),
        ("return 2 * x + self.bias", "return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_drafted_says_why(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(KcbenchError, match=message):
        first_contract(write(tmp_path / "level1" / "twice", CODE.replace(old, new)))
    with pytest.raises(KcbenchError, match="cannot be read"):
        first_contract(tmp_path / "level1" / "nothing")


def test_clauses_that_are_alive() -> None:
    assert dead_clauses(load_task("level1/relu")) == {}


def test_a_gate_that_sees_nothing_is_dead() -> None:
    task = load_task("level1/relu")
    constant = task.code.replace("return torch.relu(x)", "return torch.zeros_like(x)")
    assert constant != task.code
    found = dead_clauses(dataclasses.replace(task, code=constant, reference=None))
    assert "does not depend on the inputs" in found["CMP-01"]
    assert "EXC-01" in found


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from kcbench.cli.draft import draft, prove

    folder = write(tmp_path / "level1" / "twice", CODE)
    draft([folder])
    assert json.loads((folder / "contract.json").read_text())["task"] == "level1/twice"
    with pytest.raises(KcbenchError, match="there is a contract already"):
        draft([folder])
    draft([folder], force=True)
    capsys.readouterr()
    prove(["level1/relu"])
    assert capsys.readouterr().out == "level1/relu: alive\n"


def test_a_dead_clause_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    from kcbench.cli.draft import prove

    found: Callable[..., Any] = lambda task: {"PRC-01": "it would let these faults through: rounded to bfloat16"}  # noqa: E731
    monkeypatch.setattr("kcbench.infer.authoring.dead_clauses", found)
    with pytest.raises(typer.Exit) as stop:
        prove(["level1/relu"])
    assert stop.value.exit_code == 1
    assert "PRC-01: it would let these faults through" in capsys.readouterr().err
