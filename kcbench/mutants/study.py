"""Study: many mutants examined by several processes.

Every process is a fresh one, also where there is but one: on a CPU kernels are interpreted in it, which Triton decides when it is
imported, and it forks for every mutant, which a process with threads should not do.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from kcbench.mutants.agenda import Agenda
from kcbench.mutants.examiner import Examiner
from kcbench.mutants.planted import Planted
from kcbench.mutants.record import Record
from kcbench.study import place_on

PATIENCE = 30.0
"""Seconds for a process to end when it is told to: a driver may take its time to tear device contexts down."""


def run_study(
    planted: Sequence[Planted],
    *,
    seed: str,
    device: str = "cpu",
    jobs: int = 1,
    equivalents: bool = False,
    stop: threading.Event | None = None,
) -> Generator[Record, None, None]:
    """Examine mutants.

    Args:
        planted: The mutants.
        seed: Inputs and trials follow from it.
        device: Where kernels run: ``cpu`` (in forks) or ``cuda`` (in workers; Triton kernels come first there).
        jobs: How many processes.
        equivalents: Ask the gates about mutants without a witness too.
        stop: When set, no further mutant is begun.

    Yields:
        What became of each, in the order in which they are done.

    Raises:
        RuntimeError: A process ended on its own.
    """
    agenda = Agenda(planted, first="triton" if device == "cuda" else "")
    busy: dict[Connection, _Helper] = {}
    ended: list[_Helper] = []
    try:
        with _ready_to_start(device):
            for number in range(jobs):
                item = agenda.next(number)
                if item is None:
                    break
                helper = _Helper.start(number, item, seed=seed, device=device, equivalents=equivalents)
                busy[helper.connection] = helper
        while busy:
            for connection in wait(list(busy)):
                helper = busy[connection]  # type: ignore[index]
                yield helper.answer()
                item = None if stop is not None and stop.is_set() else agenda.next(helper.number)
                helper.give(item)
                if item is None:
                    ended.append(busy.pop(helper.connection))
    finally:
        for helper in busy.values():
            helper.process.terminate()
        for helper in (*ended, *busy.values()):
            helper.end()


@dataclass
class _Helper:
    """A process that examines what it is given."""

    number: int
    process: SpawnProcess
    connection: Connection
    item: Planted

    @classmethod
    def start(cls, number: int, item: Planted, *, seed: str, device: str, equivalents: bool) -> _Helper:
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, seed, device, equivalents), daemon=True)
        process.start()
        theirs.close()
        mine.send(item)
        return cls(number, process, mine, item)

    def give(self, item: Planted | None) -> None:
        """Hand it the next mutant, or None when there is nothing more to do."""
        try:
            self.connection.send(item)
        except ConnectionError:
            raise self._gone() from None
        if item is not None:
            self.item = item

    def answer(self) -> Record:
        """What it found out. Text, so that no kernel that broke out of its fork can do harm here."""
        try:
            data = json.loads(self.connection.recv_bytes())
        except (EOFError, ConnectionError):
            raise self._gone() from None
        return Record.from_json(data, self.item)

    def _gone(self) -> RuntimeError:
        self.process.join(PATIENCE)
        return RuntimeError(f"a process of the study ended at {self.item.id} with exit code {self.process.exitcode}")

    def end(self) -> None:
        self.connection.close()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _serve(connection: Connection, seed: str, device: str, equivalents: bool) -> None:
    """The life of a helper: it ends when it is told to, or when nobody listens any more."""
    # So that what it has open is closed: folders of sessions, and on a GPU a pool of workers.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))
    # Kernels meet NaN and infinities on purpose.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    with place_on(device) as place, Examiner(place, seed=seed, equivalents=equivalents) as examiner:
        try:
            while (item := connection.recv()) is not None:
                connection.send_bytes(json.dumps(examiner.examine(item).to_json()).encode())
        except (EOFError, ConnectionError):
            return


@contextmanager
def _ready_to_start(device: str) -> Iterator[None]:
    """Within it processes start with the environment that helpers need, and deaf to Ctrl-C, which a terminal sends to all."""
    wanted = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    if device == "cpu":
        wanted["TRITON_INTERPRET"] = "1"
    before = {name: os.environ.get(name) for name in wanted}
    # Its start takes the mask of signals back.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
