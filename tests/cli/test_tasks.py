"""``kcbench tasks`` and the program's own options."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import kcbench
from kcbench.domain.schema import validate
from kcbench.tasks import list_tasks
from tests.chosen import CORE


def test_list(run: Callable[..., Any]) -> None:
    lines = run("tasks", "list").out.splitlines()
    assert lines[0].split() == ["TASK", "CATEGORY", "DTYPES", "FORMULA"]
    assert [line.split()[0] for line in lines[1:]] == list_tasks()


def test_list_as_json(run: Callable[..., Any]) -> None:
    data = json.loads(run("tasks", "list", "--json").out)
    assert [item["id"] for item in data] == list_tasks()
    assert set(data[0]) == {"id", "title", "category", "formula", "dtypes"}


@pytest.mark.parametrize("task", CORE)
def test_show(task: str, run: Callable[..., Any]) -> None:
    outcome = run("tasks", "show", task)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(f"{task}  ")
    assert "What a kernel owes" in outcome.out
    data = json.loads(run("tasks", "show", task, "--json").out)
    validate(data, "task", source=task)


def test_version(run: Callable[..., Any]) -> None:
    assert run("--version").out == f"kcbench {kcbench.__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["eval"],
        ["redteam"],
        ["tasks"],
        ["tasks", "list"],
        ["tasks", "show"],
        ["contract", "validate"],
        ["report"],
        ["show"],
        ["repro"],
    ],
    ids=" ".join,
)
def test_help(command: list[str], run: Callable[..., Any]) -> None:
    outcome = run(*command, "--help")
    assert outcome.code == 0
    assert outcome.out.startswith("Usage: kcbench")


@pytest.mark.parametrize("arguments", [["--help"], ["tasks", "list"], ["eval", "--help"], ["calibrate", "--help"]], ids=" ".join)
def test_no_heavy_import(arguments: list[str]) -> None:
    """What makes a start slow is not loaded: torch, numpy, polars, and for the help text also rich and jsonschema."""
    heavy = ("torch", "numpy", "polars", "triton", "rich", "jsonschema")
    code = (
        "import sys\n"
        "from kcbench.cli.app import main\n"
        f"sys.argv = ['kcbench', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        f"found = [name for name in {heavy!r} if name in sys.modules]\n"
        "assert not found, found\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_reader_that_goes_away() -> None:
    command = f"{sys.executable} -m kcbench tasks list --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.strip() in ("0", "1", "141")  # 0 where the pipe took it all before the reader left, 1 where typer saw it
    assert done.stderr == ""
