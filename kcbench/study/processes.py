"""Processes: many jobs examined by several of them.

Every process is a fresh one, also where there is but one: on a CPU kernels are interpreted in it, which Triton decides when it is
imported, and it forks for kernels of which anything must be expected, which a process with threads should not do.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, Protocol, TypeVar

from kcbench.study.agenda import Agenda
from kcbench.study.job import Job
from kcbench.study.place import Place, place_on
from kcbench.study.record import Record

J = TypeVar("J", bound=Job)
K = TypeVar("K", contravariant=True)
R = TypeVar("R", bound=Record)

PATIENCE = 30.0
"""Seconds for a process to end when it is told to: a driver may take its time to tear device contexts down."""


class Examiner(Protocol[K]):
    """Examines one job after the other."""

    def examine(self, job: K, /) -> Record:
        """What becomes of a job. It is not to raise: one kernel must not end a study of thousands."""


Begin = Callable[[Place], AbstractContextManager[Examiner[J]]]
"""Makes an examiner, for kernels that run at a place. It travels to each process, so that it must be picklable."""


def in_processes(
    todo: Sequence[J],
    begin: Begin[J],
    read: Callable[[Mapping[str, Any], J], R],
    *,
    device: str = "cpu",
    jobs: int = 1,
    stop: threading.Event | None = None,
) -> Generator[R, None, None]:
    """Examine jobs.

    Args:
        todo: The jobs.
        begin: Makes an examiner in each process.
        read: Makes a record of its JSON and the job.
        device: Where kernels run: ``cpu`` (in forks) or ``cuda`` (in workers; Triton kernels come first there).
        jobs: How many processes.
        stop: When set, nothing more is begun.

    Yields:
        What became of each, in the order in which they are done.

    Raises:
        RuntimeError: A process ended on its own.
    """
    agenda = Agenda(todo, first="triton" if device == "cuda" else "")
    busy: dict[Connection, _Helper[J]] = {}
    ended: list[_Helper[J]] = []
    try:
        with _ready_to_start(device):
            for number in range(jobs):
                job = agenda.next(number)
                if job is None:
                    break
                helper = _Helper.start(number, job, begin, device)
                busy[helper.connection] = helper
        while busy:
            for connection in wait(list(busy)):
                helper = busy[connection]  # type: ignore[index]
                yield read(helper.answer(), helper.job)
                job = None if stop is not None and stop.is_set() else agenda.next(helper.number)
                helper.give(job)
                if job is None:
                    ended.append(busy.pop(helper.connection))
    finally:
        for helper in busy.values():
            helper.process.terminate()
        for helper in (*ended, *busy.values()):
            helper.end()


@dataclass
class _Helper(Generic[J]):
    """A process that examines what it is given."""

    number: int
    process: SpawnProcess
    connection: Connection
    job: J

    @classmethod
    def start(cls, number: int, job: J, begin: Begin[J], device: str) -> _Helper[J]:
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, begin, device), daemon=True)
        process.start()
        theirs.close()
        mine.send(job)
        return cls(number, process, mine, job)

    def give(self, job: J | None) -> None:
        """Hand it the next job, or None when there is nothing more to do."""
        try:
            self.connection.send(job)
        except ConnectionError:
            raise self._gone() from None
        if job is not None:
            self.job = job

    def answer(self) -> Mapping[str, Any]:
        """What it found out. Text, so that no kernel that broke out of its fork can do harm here."""
        try:
            found: Mapping[str, Any] = json.loads(self.connection.recv_bytes())
        except (EOFError, ConnectionError):
            raise self._gone() from None
        return found

    def _gone(self) -> RuntimeError:
        self.process.join(PATIENCE)
        return RuntimeError(f"a process of the study ended at {self.job.id} with exit code {self.process.exitcode}")

    def end(self) -> None:
        self.connection.close()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _serve(connection: Connection, begin: Begin[J], device: str) -> None:
    """The life of a helper: it ends when it is told to, or when nobody listens any more."""
    # So that what it has open is closed: folders of sessions, and on a GPU a pool of workers.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))
    # Kernels meet NaN and infinities on purpose.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    with place_on(device) as place, begin(place) as examiner:
        try:
            while (job := connection.recv()) is not None:
                connection.send_bytes(json.dumps(examiner.examine(job).to_json()).encode())
        except (EOFError, ConnectionError):
            return


@contextmanager
def _ready_to_start(device: str) -> Iterator[None]:
    """Within it processes start with the environment that helpers need, and deaf to Ctrl-C, which a terminal sends to all."""
    wanted = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    if device == "cpu":
        wanted["TRITON_INTERPRET"] = "1"
        # Where torch sees a GPU, the first backward pass starts a thread for it, and no fork can differentiate anything after.
        wanted["CUDA_VISIBLE_DEVICES"] = ""
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
