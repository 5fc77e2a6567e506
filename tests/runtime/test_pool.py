"""The pool: several sessions, several threads, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from kcbench.errors import KcbenchError
from kcbench.runtime import WorkerPool, WorkerSession
from kcbench.runtime.tier import sandbox_tier
from kcbench.runtime.worker.zygote import parents
from tests.runtime.conftest import LIMITS, ask, module, value

ONE = torch.ones(1)


def leftovers() -> list[int]:
    return [pid for pid, parent in parents().items() if parent == os.getpid()]


def test_two_threads_use_one_pool_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(leftovers())
    barrier = threading.Barrier(2)

    def work(number: int) -> list[float]:
        got = []
        barrier.wait()
        for step in range(4):
            with pool.open(module(f"return x * {number} + {step}")) as session:
                got.append(float(value(session.call(ask(ONE)).outputs[0])))
                if step == 2:
                    session._line._child.kill()  # type: ignore[union-attr]
                    assert session.call(ask(ONE)).status == "crashed"
        return got

    with WorkerPool(limits=LIMITS, slots=2) as pool, ThreadPoolExecutor(2) as threads:
        assert list(threads.map(work, (10, 20))) == [[10, 11, 12, 13], [20, 21, 22, 23]]
        assert len(pool._free) == 2 and len(list(tmp_path.glob("kcbench-*/session-*"))) == 0
        # A session that is still open ends with the pool.
        pool.open(module()).load()
        assert set(leftovers()) - before
    assert set(leftovers()) <= before and list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError, match="closed"):
        pool.open(module())


def test_trusted_sessions_share_a_slot_that_submissions_cannot_harm() -> None:
    with WorkerPool(limits=LIMITS) as pool:
        trusted = [pool.open(module(f"return x + {n}"), trusted=True) for n in range(4)]
        # A session that has not started anything takes no slot.
        unused = [pool.open(module()) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            seen = list(threads.map(lambda session: [session.call(ask(ONE)) for _ in range(20)], trusted))
        assert [float(value(row[-1].outputs[0])) for row in seen] == [1, 2, 3, 4] and all(item.ok for row in seen for item in row)
        assert len(pool._slots) == 1
        with pool.open(module("import signal; os.kill(os.getppid(), signal.SIGKILL); time.sleep(9)")) as session:
            assert session.call(ask(ONE)).status == "crashed"
        assert len(pool._slots) == 2 and all(session.call(ask(ONE)).ok for session in trusted)
        assert all(session._restarts == 0 for session in trusted) and unused


def test_a_fork_server_that_is_found_stopped_is_replaced(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.runtime.forkserver.FORK_SECONDS", 0.5)
    with pool.open(module()) as session:
        assert session.load().ok
    os.kill(pool._free[-1].server(False).pid, signal.SIGSTOP)
    with pool.open(module()) as session:
        assert session.load().ok


def test_several_workers_of_one_server_end_and_die_on_their_own() -> None:
    body = "if float(x[0]) > 0: os._exit(7)\ntime.sleep(0.2)\nreturn x"
    with WorkerPool(limits=LIMITS) as pool, ThreadPoolExecutor(4) as threads:
        sessions = [pool.open(module(body), trusted=True) for _ in range(4)]

        def work(session: WorkerSession) -> list[str]:
            found = [session.call(ask(sign * ONE)).detail for sign in (-1, 1, -1, 1)]
            session.close()
            return found

        assert list(threads.map(work, sessions)) == [["", "exited with status 7"] * 2] * 4


def test_an_exception_in_the_grader_leaves_nothing_either(tmp_path: Path) -> None:
    script = """
    import torch
    from kcbench.runtime import WorkerPool, WorkerSession
    pool = WorkerPool()
    session = pool.open("import os; print(os.getpid(), os.getppid(), flush=True)\\nclass ModelNew: pass")
    assert session.load().ok
    print(session.log.strip(), flush=True)
    raise SystemExit(3)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 3, done.stderr
    assert list(tmp_path.iterdir()) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in done.stdout.split())


def test_a_fork_server_that_does_not_start_is_an_error_for_a_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "zygote.py"
    broken.write_text("raise ImportError(\"No module named 'torch'\")")
    monkeypatch.setattr("kcbench.runtime.worker.zygote.__file__", str(broken))
    with WorkerPool() as pool, pytest.raises(KcbenchError, match="No module named 'torch'"), pool.open(module()) as session:
        session.load()


def test_a_fork_server_has_one_thread_and_knows_its_versions(pool: WorkerPool) -> None:
    for interpret in (False, True):
        with pool.open(module(), interpret=interpret) as session:
            assert session.load().ok
        server = pool._free[-1].server(interpret)
        assert server.threads == 1 and server.versions["torch"] == torch.__version__


def test_the_tier_has_a_name() -> None:
    assert sandbox_tier() == "process"
