"""Extensions: what is built for, how long and how many at a time, and what a failed build comes down to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kcbench.runtime import WorkerPool, WorkerSession, build
from kcbench.runtime.worker.build import arch_list, brief, first_error
from tests.runtime.conftest import BRIEF, LIMITS, ask, module

Start = Callable[..., WorkerSession]

NOISE = """[1/3] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -DTORCH_EXTENSION_NAME=twice -std=c++17 -c cuda.cu
FAILED: [code=1] cuda.cuda.o
/usr/local/cuda/bin/nvcc -O2 -c /tmp/kcbench-x/session-1/extensions/twice/cuda.cu -o cuda.cuda.o
In file included from /usr/include/c10/util/Exception.h:3:
/usr/include/x.h:10:5: warning: 'error: not this one' is deprecated [-Wdeprecated]
{error}
/tmp/kcbench-x/session-1/extensions/twice/main.cpp:99:1: error: a later one
ninja: build stopped: subcommand failed.
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/tmp/s/twice/main.cpp:3:5: error: 'foo' was not declared", "main.cpp:3:5: error: 'foo' was not declared"),
        ("/tmp/s/twice/main.cpp:1:10: fatal error: no.h: No such file", "main.cpp:1:10: error: no.h: No such file"),
        ('/tmp/s/twice/cuda.cu(12): error: identifier "foo" is undefined', 'cuda.cu(12): error: identifier "foo" is undefined'),
        ("/tmp/s/cuda.cu(12): error #20: identifier  x", "cuda.cu(12): error: identifier x"),
        ("cuda.cu(1): catastrophic error: cannot open source file", "cuda.cu(1): error: cannot open source file"),
        (
            "ptxas /tmp/t.ptx, line 9; error   : Modifier '.a' needs sm_90a",
            "ptxas /tmp/t.ptx, line 9; error : Modifier '.a' needs sm_90a",
        ),
        ("ptxas fatal   : Ptx assembly aborted", "ptxas fatal : Ptx assembly aborted"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_35'", "nvcc fatal : Unsupported gpu architecture 'compute_35'"),
        ("main.cpp:(.text+0x5): undefined reference to `launch'", "undefined reference to `launch'"),
        ("/usr/bin/ld: cannot find -lcudnn_static: No such file", "cannot find -lcudnn_static"),
        ("/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found", "/usr/local/cuda/bin/nvcc: not found"),
    ],
)
def test_the_first_error_is_found_in_the_noise(line: str, expected: str) -> None:
    output = NOISE.format(error=line)
    assert first_error(output) == expected
    assert brief(f"Error building extension 'twice': {output}") == f"Error building extension 'twice': {expected}"


def test_what_is_no_failed_build_stays_as_it_is() -> None:
    assert brief("a.cpp:1:1: error: x") == "a.cpp:1:1: error: x"
    assert brief("Error building extension 'twice': [1/2] strange") == "Error building extension 'twice': [1/2] strange"
    assert first_error("all is well") == first_error("") == ""
    assert len(first_error(f"a.cpp:1:1: error: {'x' * 5000}")) <= 400


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((9, 0), "9.0"), ((8, 0), "8.0"), ((8, 9), "8.9"), ((10, 0), "10.0"), ((12, 0), "10.0+PTX")],
)
def test_one_device_is_built_for(capability: tuple[int, int], expected: str) -> None:
    assert arch_list(capability, ["sm_80", "sm_86", "sm_90a", "sm_100", "compute_100"]) == expected
    assert arch_list(capability, []) == f"{capability[0]}.{capability[1]}"


# What the machine needs


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Makes programs, the only ones that there are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python" / "bin" / "python"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.delenv("CXX", raising=False)

    def make(*names: str, says: str = "") -> None:
        for name in names:
            (folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
            (folder / name).chmod(0o755)
        build.cannot_build.cache_clear()

    make()
    yield make
    build.cannot_build.cache_clear()


def test_every_missing_tool_is_named(tools: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.version.cuda", "13.0")
    assert "needs ninja" in build.cannot_build()
    tools("ninja")
    assert "C++ compiler" in build.cannot_build()
    tools("c++")
    assert "needs nvcc" in build.cannot_build()
    monkeypatch.delenv("CUDA_HOME")
    tools("nvcc", says="Cuda compilation tools, release 12.4, V12.4.99")
    assert "version 13.0" in build.cannot_build() and "12.4" in build.cannot_build()
    tools("nvcc", says="Cuda compilation tools, release 13.1, V13.1.1")
    assert build.cannot_build() == ""
    assert all(len(build.cannot_build().splitlines()) <= 1 for _ in range(2))


def test_compilers_do_not_outnumber_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(16)))
    assert [build.build_jobs(slots) for slots in (1, 4, 8, 100)] == [8, 4, 2, 2] and build.parallel_builds() == 8
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    assert build.build_jobs(1) == 2 and build.parallel_builds() == 1


# Time and place


@pytest.mark.slow
def test_a_build_gets_more_time_than_an_import(start: Start) -> None:
    limits = replace(BRIEF, build_seconds=30.0)
    slow = "if __name__: time.sleep(2)"
    assert start(head=slow, limits=limits).load().status == "timeout"
    assert start(head=slow, limits=limits, builds=True).load().ok


def test_a_first_call_may_build_and_a_later_one_may_not(start: Start) -> None:
    file = module("time.sleep(float(x[0]))\nreturn x", init="time.sleep(2)")
    session = start(file=file, limits=replace(BRIEF, build_seconds=30.0), builds=True)
    assert session.call(ask(torch.zeros(1))).ok
    assert session.call(ask(torch.full((1,), 5.0))).status == "timeout"


def test_few_build_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.runtime.site.parallel_builds", lambda: 1)
    head = f"""
def say(what):
    with open({str(tmp_path / "log")!r}, "a") as file:
        file.write(what)
say("(")
time.sleep(0.5)
say(")")
"""
    with WorkerPool(limits=LIMITS, slots=3) as pool:
        sessions = [pool.open(module(head=head), builds=True) for _ in range(3)]
        threads = [threading.Thread(target=session.load) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(session.load().ok for session in sessions)
    assert (tmp_path / "log").read_text() == "()" * 3


def test_a_build_does_not_hold_up_a_measurement(pool: WorkerPool, start: Start) -> None:
    session = start(head="time.sleep(1)", builds=True)
    thread = threading.Thread(target=session.load)
    with pool.alone():
        thread.start()
        thread.join(20)
        assert not thread.is_alive() and session.load().ok


def test_builds_have_a_folder_of_their_own_and_find_no_lock_of_an_earlier_worker(start: Start) -> None:
    body = "print(os.environ['TORCH_EXTENSIONS_DIR'], os.environ['MAX_JOBS'], flush=True)\nreturn x"
    first, second = start(body, builds=True), start(body, builds=True)
    lock = first._folder / "extensions" / "twice" / "lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert first.call(ask(torch.zeros(1))).ok and second.call(ask(torch.zeros(1))).ok
    assert not lock.exists()
    folders = {session.log.split()[0] for session in (first, second)}
    assert folders == {str(session._folder / "extensions") for session in (first, second)}
    assert int(first.log.split()[1]) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("verbose", [False, True])
def test_a_failed_build_is_one_clear_line(start: Start, verbose: bool) -> None:
    if build.cannot_build() and "nvcc" not in build.cannot_build():
        pytest.skip(build.cannot_build())
    head = f"""
    from torch.utils.cpp_extension import load_inline
    load_inline("broken", cpp_sources="int f() {{ return missing; }}", no_implicit_headers=True, verbose={verbose})
    """
    report = start(head=head, builds=True).load()
    assert report.raised is not None and report.raised.type == "RuntimeError", report
    (line,) = report.raised.message.splitlines()
    assert line.startswith("Error building extension 'broken': main.cpp:") and "missing" in line
