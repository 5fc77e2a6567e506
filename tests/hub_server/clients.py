"""The real clients, in processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hub_server.running import OWNER, Hub

_RUN_ALL = """
import contextlib, io, json, sys
from kcbench.cli.app import main

def call(arguments):
    sys.argv = ["kcbench", *arguments]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()

"""


@dataclass(frozen=True)
class Outcome:
    """What one command left behind."""

    code: int
    out: str
    err: str


@dataclass
class Client:
    """Runs commands as a user of one Hub: a process each, with caches that no other Hub's clients share."""

    hub: Hub
    token: str = OWNER
    extra: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Start ``python`` with some arguments."""
        command = [sys.executable, *map(str, arguments)]
        environment = self.hub.environment(self.token) | self.extra
        # A shell's background jobs ignore Ctrl-C, and so would what they start.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        finally:
            signal.signal(signal.SIGINT, before)

    def kcbench(self, *arguments: object) -> Outcome:
        """Run ``kcbench`` with some arguments."""
        return finish(self.start("-m", "kcbench", *arguments))

    def all(self, commands: Sequence[Sequence[object]]) -> list[Outcome]:
        """Run ``kcbench`` with each of several argument lists, one after the other in one process, which saves imports."""
        given = [[str(argument) for argument in command] for command in commands]
        return [Outcome(*item) for item in self.json(f"{_RUN_ALL}print(json.dumps([call(item) for item in {given!r}]))")]

    def json(self, code: str) -> Any:
        """What a script prints, read as JSON."""
        done = finish(self.start("-c", code))
        assert done.code == 0, done.err
        return json.loads(done.out)


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Wait for a command."""
    out, err = process.communicate(timeout=120)
    return Outcome(process.returncode, out, err)


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of all files below a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
