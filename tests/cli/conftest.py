"""Running the command line inside the test's own process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kcbench.cli.app import main
from tests.cli.suite_stand_ins import engine, infer, place

__all__ = ["engine", "infer", "place", "run"]


@dataclass(frozen=True)
class Outcome:
    """What one command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run ``kcbench`` with some arguments."""
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["kcbench", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        seen = capsys.readouterr()
        return Outcome(code, seen.out, seen.err)

    return call
