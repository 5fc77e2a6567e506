from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import torch

from kcbench.runtime import WorkerPool, WorkerSession
from tests.runtime.conftest import BRIEF, ask, module

Start = Callable[..., WorkerSession]


def test_an_ordinary_file_loads_once(start: Start) -> None:
    session = start("return x + 1", head="print('imported')")
    report = session.load()
    assert report.ok and report.raised is None and report.seconds < 20
    assert session.load() is report
    assert session.call(ask(torch.zeros(2))).ok
    assert session.log.count("imported") == 1


@pytest.mark.parametrize(
    ("head", "kind", "message"),
    [
        ("import no_such_package", "ModuleNotFoundError", "no_such_package"),
        ("def f(:", "SyntaxError", "invalid syntax"),
        ("1 / 0", "ZeroDivisionError", "division by zero"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("bytearray(100 << 30)", "MemoryError", ""),
        ("torch.empty(100 << 30, dtype=torch.uint8)", "RuntimeError", "allocate"),
        ("import kcbench", "ModuleNotFoundError", "kcbench"),
        ("class Bad(Exception):\n    def __str__(self): raise self\nraise Bad", "Bad", "cannot be printed"),
        ("raise ValueError('x' * 100_000)", "ValueError", "xxx"),
        (r"raise ValueError('\ud800')", "ValueError", ""),
    ],
)
def test_an_import_that_raises_is_reported_with_type_and_message(start: Start, head: str, kind: str, message: str) -> None:
    session = start(head=head)
    report = session.load()
    assert report.status == "raised" and report.raised is not None
    assert report.raised.type == kind and message in report.raised.message and len(report.raised.message) <= 2000
    report.raised.message.encode()
    observation = session.call(ask(torch.zeros(2)))
    assert observation.status == "not-run" and kind in observation.detail


def test_the_trace_names_the_line(start: Start) -> None:
    raised = start(head="def inner():\n    raise ValueError('here')\ninner()").load().raised
    assert raised is not None and "in inner" in raised.trace and "raise ValueError('here')" in raised.trace


def test_sys_exit_is_caught_and_named(start: Start) -> None:
    report = start(head="sys.exit(3)").load()
    assert (report.status, report.detail) == ("raised", "called sys.exit(3)")
    assert report.raised is not None and report.raised.type == "SystemExit"


@pytest.mark.parametrize(
    ("head", "detail"),
    [
        ("os._exit(3)", "exited with status 3"),
        ("os._exit(0)", "exited with status 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9 (SIGKILL)"),
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11 (SIGSEGV)"),
        ("os.abort()", "killed by signal 6 (SIGABRT)"),
    ],
)
def test_an_import_that_ends_the_process_is_a_crash(start: Start, head: str, detail: str) -> None:
    report = start(head=head).load()
    assert (report.status, report.detail) == ("crashed", detail)


def test_an_import_that_hangs_times_out(start: Start) -> None:
    report = start(head="while True: pass", limits=BRIEF).load()
    assert report.status == "timeout" and "1 s" in report.detail and report.seconds < 8


def test_a_missing_entry_class_is_named(start: Start) -> None:
    raised = start(file="x = 1").load().raised
    assert raised is not None and "ModelNew" in raised.message


def test_another_entry_class_can_be_asked_for(pool: WorkerPool) -> None:
    with pool.open(module("return x * 3").replace("ModelNew", "Fast"), entry="Fast") as session:
        assert session.call(ask(torch.ones(1))).ok


def test_source_that_is_no_utf8_travels(start: Start) -> None:
    broken = b"# \xff\nraise ValueError('reached')\n".decode("utf-8", "surrogateescape")
    raised = start(file=broken).load().raised
    assert raised is not None and raised.type in ("SyntaxError", "ValueError")


def test_the_world_of_a_submission_is_scrubbed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    head = """
    import resource
    print("CWD", os.getcwd(), "HOME", os.environ["HOME"], "TMP", os.environ["TMPDIR"])
    print("CORE", resource.getrlimit(resource.RLIMIT_CORE), "SID", os.getsid(0) == os.getpid(), "CWD", {"", os.getcwd()} & set(sys.path))
    print("STDIN", repr(sys.stdin.read()), "THREADS", torch.get_num_threads())
    print("SECRETS", [name for name in os.environ if "SECRET" in name or name.startswith("PYTHON")])
    print("MODULES", [name for name in sys.modules if "kcbench" in name and sys.modules[name] is not None])
    """
    monkeypatch.setenv("KCBENCH_TEST_SECRET", "hidden")
    session = start(head=head)
    assert session.load().ok
    session.call(ask(torch.zeros(1)))
    assert "CORE (0, 0) SID True CWD set()" in session.log
    assert "STDIN '' THREADS 1" in session.log
    assert "SECRETS []" in session.log and "MODULES []" in session.log
    assert os.environ["HOME"] not in session.log.split("CORE")[0]
