"""What a submission can do to its process, its parents, its neighbours and its connection."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kcbench.runtime import WorkerPool, WorkerSession
from tests.runtime.conftest import BRIEF, LIMITS, ask, value

Start = Callable[..., WorkerSession]
ONE = torch.ones(1)


def wait_until_gone(pid: int, seconds: float = 5.0) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("os._exit(3)", "exited with status 3"),
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11 (SIGSEGV)"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "killed by signal 15 (SIGTERM)"),
    ],
)
def test_a_crash_in_forward_is_named_and_the_next_call_gets_a_new_worker(start: Start, body: str, detail: str) -> None:
    session = start(f"if float(x[0]) > 0:\n    {body}\nreturn x")
    assert (seen := session.call(ask(ONE))).status == "crashed" and seen.detail == detail
    assert session.call(ask(-ONE)).ok


def test_a_stack_overflow_is_survived(start: Start) -> None:
    body = "from ctypes import *\nsys.setrecursionlimit(1 << 30)\nf = CFUNCTYPE(c_int, c_int)(lambda n: f(n + 1))\nreturn f(0)"
    seen = start(body.replace("import *", "import CFUNCTYPE, c_int")).call(ask(ONE))
    assert (seen.status, seen.detail) == ("crashed", "killed by signal 11 (SIGSEGV)")


@pytest.mark.parametrize(
    ("body", "kind", "detail"),
    [
        ("sys.exit(3)", "SystemExit", "called sys.exit(3)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "raised KeyboardInterrupt"),
        ("raise ValueError('no')", "ValueError", ""),
        ("return torch.empty(100 << 30)", "RuntimeError", ""),
        ("def f(): f()\nf()", "RecursionError", ""),
    ],
)
def test_what_can_be_caught_is_raised_and_the_worker_lives_on(start: Start, body: str, kind: str, detail: str) -> None:
    session = start("self.n = getattr(self, 'n', 0) + 1\nif self.n == 2:\n    return x * self.n\n" + body)
    seen = session.call(ask(ONE))
    assert seen.status == "raised" and seen.raised is not None
    assert (seen.raised.type, seen.detail) == (kind, detail)
    assert float(value(session.call(ask(ONE)).outputs[0])) == 2


def test_an_endless_forward_times_out(start: Start) -> None:
    session = start("while float(x[0]) > 0: pass\nreturn x", limits=BRIEF)
    begin = time.monotonic()
    seen = session.call(ask(ONE))
    assert seen.status == "timeout" and time.monotonic() - begin < 8
    assert session.call(ask(-ONE)).ok


def test_slow_calls_share_a_reserve_and_one_that_hangs_uses_it_up(start: Start) -> None:
    session = start("time.sleep(float(x[0]))\nreturn x", limits=replace(BRIEF, load_seconds=30.0, reserve_seconds=3.0))
    assert session.call(ask(2 * ONE)).ok
    begin = time.monotonic()
    assert session.call(ask(60 * ONE)).status == "timeout"
    # A second of its own, and what the first call has left of the reserve.
    assert 2.5 < time.monotonic() - begin < 4.0
    assert session.call(ask(0.2 * ONE)).ok and session.call(ask(2 * ONE)).status == "timeout"


def test_a_worker_that_cannot_be_signalled_politely_is_killed(start: Start) -> None:
    body = "for n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass\ntime.sleep(60)"
    assert start(body, limits=BRIEF).call(ask(ONE)).status == "timeout"


def test_restarts_are_counted_and_end(start: Start) -> None:
    session = start("os._exit(1)", limits=replace(LIMITS, max_restarts=1))
    assert [session.call(ask(ONE)).status for _ in range(3)] == ["crashed", "crashed", "not-run"]


def test_the_clock_of_a_session_ends_it(start: Start) -> None:
    session = start("time.sleep(10)", limits=replace(LIMITS, total_seconds=1.5))
    seen = session.call(ask(ONE))
    assert seen.status == "timeout" and "1.5 s" in seen.detail
    assert session.call(ask(ONE)).status == "not-run"


def test_parameters_and_models_are_there_again_after_a_crash(start: Start) -> None:
    from tests.runtime.conftest import module

    file = module("if float(x[0]) > 1: os._exit(1)\nreturn x * self.weight", init="self.weight = nn.Parameter(torch.ones(1))")
    session = start(file=file)
    parameters = {"weight": torch.tensor([5.0])}
    assert float(value(session.call(ask(ONE, parameters=parameters)).outputs[0])) == 5
    assert session.call(ask(2 * ONE, parameters=parameters)).status == "crashed"
    assert float(value(session.call(ask(ONE, parameters=parameters)).outputs[0])) == 5


def test_memory_that_grows_is_noticed(start: Start) -> None:
    body = "keep = []\nwhile True:\n    keep.append(torch.ones(4 << 20))\n    time.sleep(0.005)"
    seen = start(body, limits=replace(LIMITS, memory_bytes=300 << 20)).call(ask(ONE))
    assert seen.status == "memory" and "GiB" in seen.detail


def test_memory_of_children_counts(start: Start) -> None:
    body = "for _ in range(4):\n    if os.fork() == 0:\n        block = bytearray(os.urandom(1)) * (120 << 20)\n        time.sleep(60)\ntime.sleep(60)"
    seen = start(body, limits=replace(LIMITS, memory_bytes=300 << 20)).call(ask(ONE))
    assert seen.status == "memory"


def test_a_flood_of_output_blocks_nothing_and_only_its_end_is_kept(start: Start) -> None:
    session = start("for _ in range(200):\n    os.write(1, b'x' * (1 << 20))\nprint('the end', flush=True)\nreturn x")
    assert session.call(ask(ONE)).ok
    assert session.log.endswith("the end\n") and len(session.log) <= 64 << 10


def test_what_a_submission_leaves_running_is_ended_with_it(start: Start) -> None:
    body = """
    for escape in (False, True):
        if os.fork() == 0:
            if escape:
                os.setsid()
                if os.fork():
                    os._exit(0)
            print("CHILD", os.getpid(), flush=True)
            time.sleep(600)
            os._exit(0)
    time.sleep(0.5)
    return x
    """
    session = start(body)
    assert session.call(ask(ONE)).ok
    pids = [int(line.split()[1]) for line in session.log.splitlines() if line.startswith("CHILD")]
    assert len(pids) == 2 and all(Path(f"/proc/{pid}").exists() for pid in pids)
    session.close()
    assert all(wait_until_gone(pid) for pid in pids)


def test_a_child_that_holds_the_connection_does_not_hide_a_crash(start: Start) -> None:
    session = start("if os.fork() == 0:\n    time.sleep(600)\nos._exit(5)")
    begin = time.monotonic()
    seen = session.call(ask(ONE))
    assert (seen.status, seen.detail) == ("crashed", "exited with status 5") and time.monotonic() - begin < 5


def test_a_crowd_of_processes_is_ended(start: Start) -> None:
    body = "for _ in range(60):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)\ntime.sleep(600)"
    session = start(body, limits=replace(LIMITS, max_processes=40))
    seen = session.call(ask(ONE))
    assert seen.status == "crashed" and "40 processes" in seen.detail
    assert session.call(ask(ONE)).status == "crashed"


def test_killing_the_parent_ends_one_submission_only(start: Start) -> None:
    session = start("if float(x[0]) > 0:\n    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(30)\nreturn x")
    seen = session.call(ask(ONE))
    assert seen.status == "crashed"
    assert session.call(ask(-ONE)).ok
    session.close()
    assert start().call(ask(ONE)).ok


def test_stopping_the_parent_ends_one_submission_only(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.runtime.forkserver.EXIT_SECONDS", 0.5)
    session = start("if float(x[0]) > 0:\n    os.kill(os.getppid(), signal.SIGSTOP)\n    time.sleep(600)\nreturn x", limits=BRIEF)
    assert session.call(ask(ONE)).status == "timeout"
    assert session.call(ask(-ONE)).ok


FIND_SOCKET = """
import stat as st
def connection():
    for fd in range(3, 4096):
        try:
            if st.S_ISSOCK(os.fstat(fd).st_mode):
                return fd
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    "forged",
    [
        "b'garbage' * 10",
        "b'KCB\\x01' + b'\\xff' * 12",
        "frame(b'{}')",
        'frame(b\'{"status": "ok", "nonce": "0000000000000000", "outputs": []}\')',
    ],
)
def test_bytes_that_a_submission_writes_to_the_connection_break_the_protocol(start: Start, forged: str) -> None:
    head = FIND_SOCKET + "import struct\ndef frame(body): return struct.pack('!4sIQ', b'KCB\\x01', len(body), 0) + body\n"
    session = start(f"if float(x[0]) > 0: os.write(connection(), {forged})\nreturn x", head=head)
    seen = session.call(ask(ONE))
    assert (seen.status, seen.detail) == ("crashed", "broke the protocol")
    assert session.call(ask(-ONE)).ok


def test_a_frame_after_the_answer_breaks_the_protocol_at_the_next_call(start: Start) -> None:
    head = FIND_SOCKET + "import threading\ndef later(): time.sleep(0.3); os.write(connection(), b'unasked')"
    session = start("threading.Thread(target=later, daemon=True).start()\nreturn x", head=head)
    assert session.call(ask(ONE)).ok
    time.sleep(1.0)
    assert session.call(ask(ONE)).detail == "broke the protocol"


def test_closing_the_connection_is_a_crash(start: Start) -> None:
    session = start("if float(x[0]) > 0: os.closerange(3, 4096)\nreturn x", head="")
    assert session.call(ask(ONE)).status == "crashed"
    assert session.call(ask(-ONE)).ok


def test_reading_the_requests_away_is_not_waited_for_longer_than_allowed(start: Start) -> None:
    head = FIND_SOCKET + "import threading\ndef thief():\n    while True: os.read(connection(), 65536)"
    session = start("threading.Thread(target=thief, daemon=True).start()\ntime.sleep(0.2)\nreturn x", head=head, limits=BRIEF)
    session.call(ask(ONE))
    assert session.call(ask(torch.ones(1 << 20))).status in ("timeout", "crashed")


def test_temporary_files_go_to_the_session(start: Start) -> None:
    session = start("import tempfile\nprint(tempfile.mkdtemp(), flush=True)\nreturn x")
    assert session.call(ask(ONE)).ok
    folder = Path(session.log.strip())
    assert folder.parent == session._folder / "tmp" and folder.exists()
    session.close()
    assert not folder.exists()


def test_taking_the_storage_of_an_input_away_is_a_mutation(start: Start) -> None:
    seen = start("x.untyped_storage().resize_(0)\nreturn torch.zeros(1)").call(ask(ONE))
    assert seen.ok and seen.mutated == ("a",)


def test_a_folder_without_permissions_is_removed(start: Start) -> None:
    session = start(
        "os.makedirs('a/b', exist_ok=True)\nopen('a/b/c', 'w').close()\nos.chmod('a/b', 0)\nprint(os.getcwd(), flush=True)\nreturn x"
    )
    assert session.call(ask(ONE)).ok
    folder = Path(session.log.strip())
    session.close()
    assert folder.is_absolute() and not folder.parent.exists()


def test_an_interrupt_of_the_grader_leaves_nothing_behind(pool: WorkerPool) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            pool.open("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)") as session,
        ):
            signal.setitimer(signal.ITIMER_REAL, 1.5)
            session.load()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert wait_until_gone(int(session.log))
    assert os.getpid()
