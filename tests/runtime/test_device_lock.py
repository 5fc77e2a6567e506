"""One alone, or many together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import torch

from kcbench.runtime import WorkerPool, WorkerSession
from kcbench.runtime.device_lock import DeviceLock
from tests.runtime.conftest import ask

Start = Callable[..., WorkerSession]
SOON = 0.2
"""Seconds in which what is not held up would have happened."""


class Guest(threading.Thread):
    """Enters one way, says so, and stays until told to leave."""

    def __init__(self, enter: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self.enter, self.inside, self.leave = enter, threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with self.enter():  # type: ignore[attr-defined]
            self.inside.set()
            self.leave.wait(20)


def test_many_share_and_one_excludes_all() -> None:
    lock = DeviceLock()
    sharing = [Guest(lock.shared) for _ in range(3)]
    assert all(guest.inside.wait(5) for guest in sharing)
    alone = Guest(lock.alone)
    assert not alone.inside.wait(SOON)
    # Whoever comes later waits behind the one who wants to be alone, so that a busy run does not keep it out for ever.
    late = [Guest(lock.shared), Guest(lock.shared)]
    assert not any(guest.inside.wait(SOON) for guest in late)
    for guest in sharing:
        guest.leave.set()
    assert alone.inside.wait(5) and not any(guest.inside.wait(SOON) for guest in late)
    alone.leave.set()
    assert all(guest.inside.wait(5) for guest in late)
    for guest in late:
        guest.leave.set()
    with lock.alone():
        pass


def test_whoever_is_alone_shares_with_itself() -> None:
    lock = DeviceLock()
    with lock.alone(), lock.shared(), lock.shared():
        other = Guest(lock.shared)
        assert not other.inside.wait(SOON)
    assert other.inside.wait(5)
    other.leave.set()


def test_an_exception_lets_go() -> None:
    lock = DeviceLock()
    for enter in (lock.shared, lock.alone):
        try:
            with enter():
                raise ValueError
        except ValueError:
            pass
    with lock.alone():
        pass


def test_no_call_of_another_thread_is_made_while_a_pool_is_held_alone(pool: WorkerPool, start: Start) -> None:
    mine, theirs = start("return x + 1"), start("return x + 2")
    assert mine.load().ok and theirs.load().ok
    answered = threading.Event()

    def call() -> None:
        assert theirs.call(ask(torch.zeros(1))).ok
        answered.set()

    thread = threading.Thread(target=call)
    with pool.alone():
        thread.start()
        assert not answered.wait(SOON)
        assert mine.call(ask(torch.zeros(1))).ok
        assert not answered.is_set()
    assert answered.wait(20)
    thread.join()


def test_a_measurement_waits_for_the_call_that_is_under_way(pool: WorkerPool, start: Start) -> None:
    session = start("time.sleep(0.5)\nreturn x")
    assert session.load().ok
    ended: list[float] = []

    def call() -> None:
        session.call(ask(torch.zeros(1)))
        ended.append(time.monotonic())

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.1)
    with pool.alone():
        entered = time.monotonic()
        thread.join()
    assert ended and ended[0] - entered < 0.3


def test_waiting_for_the_device_is_not_charged_to_a_submission(pool: WorkerPool, start: Start) -> None:
    session = start("return x")
    assert session.load().ok
    seen = []
    thread = threading.Thread(target=lambda: seen.append(session.call(ask(torch.zeros(1)))))
    before = session._spent
    with pool.alone():
        thread.start()
        time.sleep(1.5)
    thread.join()
    assert seen[0].ok and session._spent - before < 1.0 and seen[0].seconds < 1.0
