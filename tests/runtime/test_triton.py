"""Triton kernels: interpreted, recorded, and compiled for targets that are not here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from kcbench.runtime import WorkerPool, WorkerSession
from kcbench.runtime.compiler import first_of_each, launch_key
from tests.runtime.conftest import LIMITS, ask, module, value

pytest.importorskip("triton", reason="needs triton")

Start = Callable[..., WorkerSession]
X = torch.arange(300, dtype=torch.float32).reshape(3, 100)

HEAD = """
import triton
import triton.language as tl

@triton.jit
def double(v):
    return v * 2

@triton.jit
def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr, ACT: tl.constexpr = None, TYPE: tl.constexpr = tl.float32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = (tl.load(x_ptr + at, mask=at < n).to(TYPE) * factor)
    if ACT is not None:
        value = ACT(value)
    tl.store(y_ptr + at, value, mask=at < n)
"""
BODY = """
y = torch.empty_like(x)
scale[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), 1.5, BLOCK=128, ACT=double, num_warps=2)
return y
"""
TUNED = """
@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 256}, num_warps=8)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
"""
TUNED_BODY = "y = torch.empty_like(x)\ntuned[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, y, x.numel())\nreturn y"


def test_an_interpreted_kernel_runs_and_is_compiled_for_every_target(start: Start) -> None:
    session = start(BODY, head=HEAD, interpret=True)
    seen = session.call(ask(X))
    assert seen.ok, seen
    assert torch.equal(value(seen.outputs[0]), X * 3)
    launches = session.compile(("sm_80", "sm_90", "sm_100"))
    assert [(launch.kernel, launch.target, launch.error) for launch in launches] == [
        ("scale", t, "") for t in ("sm_80", "sm_90", "sm_100")
    ]
    for launch in launches:
        metadata = launch.metadata
        assert (
            4 <= metadata["n_regs"] <= 64 and metadata["n_spills"] == 0 and metadata["num_warps"] == 2 and metadata["shared"] == 0
        )
    # The session goes on after compiling.
    assert session.call(ask(X)).ok


def test_an_autotuned_kernel_is_interpreted_with_its_first_configuration(start: Start) -> None:
    session = start(TUNED_BODY, head=HEAD + TUNED, interpret=True)
    seen = session.call(ask(X))
    assert seen.ok, seen
    assert torch.equal(value(seen.outputs[0]), X + 1)
    (launch,) = session.compile(("sm_90",))
    assert (launch.kernel, launch.error, launch.metadata["num_warps"]) == ("tuned", "", 2)


def test_shared_memory_and_tensor_cores_of_a_matmul_are_seen(start: Start) -> None:
    head = """
    import triton
    import triton.language as tl
    @triton.jit
    def mm(a, b, c, K: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for k in range(0, K, BLOCK):
            acc += tl.dot(tl.load(a + i[:, None] * K + k + i[None, :]), tl.load(b + (k + i)[:, None] * BLOCK + i[None, :]))
        tl.store(c + i[:, None] * BLOCK + i[None, :], acc)
    """
    body = "y = torch.empty(64, 64)\nmm[(1,)](x, x.t().contiguous(), y, 128, BLOCK=64)\nreturn y"
    session = start(body, head=head, interpret=True)
    x = torch.randn(64, 128).half()
    seen = session.call(ask(x, dtype="float16"))
    assert seen.ok, seen
    torch.testing.assert_close(value(seen.outputs[0]), x.float() @ x.t().float(), atol=0.1, rtol=0.01)
    (hopper, blackwell) = session.compile(("sm_90", "sm_100"))
    assert not hopper.error and not blackwell.error
    assert hopper.metadata["shared"] > 0 and hopper.metadata["tmem_size"] == 0 and blackwell.metadata["tmem_size"] > 0
    # The code travels only where it tells what becomes of Tensor Memory.
    assert hopper.ptx == "" and "tcgen05.alloc" in blackwell.ptx


@pytest.mark.parametrize(
    ("body", "head", "error"),
    [
        # Interpreted it works, compiled it does not: numpy has no power-of-two rule.
        (
            BODY,
            HEAD.replace("value = (tl.load", "tl.static_assert(BLOCK < 64)\n    value = (tl.load"),
            "CompileTimeAssertionFailure",
        ),
        (
            "def make():\n    @triton.jit\n    def late(p, B: tl.constexpr): tl.store(p, tl.load(p))\n    return late\nmake()[(1,)](x, 1)\nreturn x",
            HEAD,
            "LookupError",
        ),
        (BODY, HEAD + "\nif not triton.knobs.runtime.interpret: raise OSError('no GPU')", "no GPU"),
        (BODY, HEAD + "\nif not triton.knobs.runtime.interpret: os.abort()", "SIGABRT"),
    ],
)
def test_what_cannot_be_compiled_is_an_error_and_no_exception(start: Start, body: str, head: str, error: str) -> None:
    session = start(body, head=head, interpret=True)
    session.call(ask(X))
    launches = session.compile(("sm_80", "sm_90"))
    assert [launch.metadata for launch in launches] == [{}, {}] and all(error in launch.error for launch in launches), launches


def test_compiling_has_a_clock_of_its_own(start: Start) -> None:
    head = HEAD + "\nif not triton.knobs.runtime.interpret: time.sleep(60)"
    session = start(BODY, head=head, interpret=True, limits=replace(LIMITS, compile_seconds=1.0))
    assert session.call(ask(X)).ok
    launches = session.compile(("sm_80", "sm_90"))
    assert len(launches) == 2 and all(launch.error for launch in launches)
    assert session.call(ask(X)).ok


def test_without_launches_there_is_nothing_to_compile(start: Start) -> None:
    session = start("return x")
    assert session.compile() == []
    assert session.call(ask(X)).ok and session.compile() == []


def test_launches_survive_a_crash_of_their_worker(start: Start) -> None:
    session = start("if float(x[0, 0]) > 0: os._exit(1)\n" + BODY, head=HEAD, interpret=True)
    assert session.call(ask(X)).ok
    assert session.call(ask(X + 1)).status == "crashed"
    assert [launch.error for launch in session.compile(("sm_90",))] == [""]


def test_launches_are_told_apart_by_constants_and_bounded(start: Start) -> None:
    body = "y = torch.empty_like(x)\nfor b in range(1, 41): scale[(1,)](x, y, 1, 1.0, BLOCK=16 * b if b in (1, 2, 4) else 16, num_warps=b)\nreturn y"
    session = start(body, head=HEAD, interpret=True)
    assert session.call(ask(X)).ok
    assert len(session._launches) == 32
    assert first_of_each(list(session._launches.values()))[0]["constants"]["BLOCK"] == 16


def test_the_first_launch_of_each_kernel_is_chosen() -> None:
    def record(kernel: str, **constants: object) -> dict[str, object]:
        return {"kernel": kernel, "line": 1, "types": {}, "constants": constants, "options": {}}

    records = [record("a", B=64), record("a", B=128, flag=True), record("b", B=1), record("a", B=32, C=2), record("b", B=None)]
    assert [item["constants"] for item in first_of_each(records)] == [{"B": 64}, {"B": 1}]
    assert len({launch_key(item) for item in records}) == 5


def test_forged_launches_are_refused(start: Start) -> None:
    head = HEAD + "\nimport json, builtins\n"
    forge = """
    import gc
    for item in gc.get_objects():
        if type(item).__name__ == "Recorder":
            item._fresh.append({"kernel": ["not a name"], "constants": {}})
    return x
    """
    seen = start(forge, head=head, interpret=True).call(ask(X))
    assert (seen.status, seen.detail) == ("crashed", "broke the protocol")


def test_a_submission_in_compiled_mode_reaches_triton_without_the_interpreter(pool: WorkerPool) -> None:
    file = module("return x + triton.knobs.runtime.interpret", head=HEAD)
    for interpret, extra in ((False, 0), (True, 1)):
        with pool.open(file, interpret=interpret) as session:
            assert torch.equal(value(session.call(ask(X)).outputs[0]), X + extra)
