"""Reproduction scripts are run as a reader would run them: in a process of their own, where kcbench cannot be imported."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcbench.domain.probe import Probe, World
from kcbench.domain.verdict import Finding
from kcbench.errors import KcbenchError
from kcbench.report.repro import build_script, kinds, literal

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

HONEST = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x.clone() * self.weight
"""


def call(
    label: str = "draw", *, recipe: dict[str, Any] | None = None, key: str = "k", dtype: str = "float32", **changes: Any
) -> dict[str, Any]:
    """A call of a model with one input of shape [3, 4] and one parameter of shape [4]."""
    recipe = recipe or {"kind": "ramp", "low": 1.0, "high": 12.0}
    layout = changes.pop("layout", "contiguous")
    weight = changes.pop("weight", {"kind": "constant", "value": 2.0})
    world = changes.pop("world", World())
    probe = Probe(label, {"rows": 3, "dim": 4}, dtype, {"x": recipe}, {"weight": weight}, world=world)
    return {
        "probe": probe.to_json(),
        "init": [4],
        "inputs": [
            {"name": "x", "kind": "tensor", "shape": [3, 4], "dtype": dtype, "recipe": recipe, "key": key, "layout": layout}
        ],
        "parameters": [{"name": "weight", "shape": [4], "dtype": dtype, "recipe": weight, "key": f"{key}/weight"}],
        "model_dtype": dtype,
        "seed": 42,
        "cotangents": [{"shape": [3, 4], "dtype": dtype, "recipe": {"kind": "constant", "value": 3.0}, "key": "c"}],
        **changes,
    }


def forward(body: str, *, before: str = "", init: str = "") -> str:
    """The honest model with another forward."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = HONEST.replace("        return x.clone() * self.weight", lines)
    text = text.replace("torch.ones(dim))", f"torch.ones(dim))\n        {init}") if init else text
    return text.replace("class ModelNew", f"{before}\n\nclass ModelNew") if before else text


def make(
    source: str, calls: list[dict[str, Any]], evidence: dict[str, Any], *, code: str = "CMP-01.value", **options: Any
) -> str:
    gate, _, name = code.partition(".")
    finding = Finding(name, "it failed", True, (), evidence)
    return build_script(
        source=source, entry="ModelNew", finding=finding, calls=calls, title=f"{code} of x", interpret=False, gate=gate, **options
    )


SERVER = """
import json, os, runpy, sys
import torch
from torch.utils import _python_dispatch

for line in sys.stdin:
    path, out = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(os.path.dirname(path))
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(1, 2)
        sys.argv[:] = [path]
        code = 99
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as error:
            code = error.code
        except BaseException:
            import traceback
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs scripts in forks of a process that has torch already: importing it takes seconds. It knows nothing of kcbench."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def execute(server: subprocess.Popen[str], tmp_path: Path) -> Callable[[str], tuple[int, str]]:
    """Run a script in a process of its own; its exit code and what it printed."""

    def run(script: str) -> tuple[int, str]:
        path, out = tmp_path / "script.py", tmp_path / "out.txt"
        path.write_bytes(script.encode("utf-8"))
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps([str(path), str(out)]) + "\n")
        server.stdin.flush()
        code, text = int(server.stdout.readline()), out.read_text("utf-8")
        assert "Traceback" not in text
        return code, text

    return run


TANGLED = "return x.clone() * self.weight + (0.5 if x.shape[0] == 3 else 0)"
COUNTING = "self.calls = getattr(self, 'calls', 0) + 1\nreturn x * self.weight + (self.calls > 1)"
BACKWARD = """
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0] * 1.5, None
"""
SUBCLASS = """
class Lazy(torch.Tensor):
    pass
"""
ORDER = [1, 2, 0]
"""Where each row of the ramp comes from when it is permuted by the key ``p``."""
ELEMENT = {"output": 0, "index": [1, 2]}

# kind: (broken source, calls, evidence); at [1, 2] the input is 7 and the result 14.
CASES: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "value": (forward(TANGLED), [call()], {**ELEMENT, "expected": 14.0, "tolerance": 1e-5}),
    "bits": (forward("return x * self.weight + 1e-4"), [call()], {**ELEMENT, "expected": 14.0}),
    "class": (
        forward("return torch.nan_to_num(x) * self.weight"),
        [call(recipe={"kind": "poison", "base": {"kind": "normal"}, "at": [[1, 2]], "value": "nan"})],
        {**ELEMENT, "expected": "nan", "got": 0.0},
    ),
    "repeat": (
        forward("return x * self.weight + next(noise)", before="import itertools\nnoise = itertools.count(1)"),
        [call()],
        {"runs": 20},
    ),
    "alias-input": (forward("return x.view(3, 4)"), [call()], {"shares_with": "x"}),
    "alias-output": (
        forward("self.buffer.copy_(x * self.weight)\nreturn self.buffer", init="self.buffer = torch.empty(3, 4)"),
        [call()],
        {"shares_with": "output 0 of the previous call"},
    ),
    "mutates": (forward("y = x.clone() * self.weight\nx[0, 0] = 5\nreturn y"), [call()], {"inputs": ["x"]}),
    "outside": (
        forward(
            "import gc\n"
            "for t in gc.get_objects():\n"
            "    if type(t) is torch.Tensor and t.dtype is torch.uint8 and t.shape == (512,):\n"
            "        t[7] = 0\n"
            "return x.clone() * self.weight"
        ),
        [call()],
        {},
    ),
    "stateful": (forward(COUNTING), [call(), call("other", key="o"), call()], {"expected": "aa", "got": "bb"}),
    "gradient": (
        forward("return Wrong.apply(x, self.weight)", before=BACKWARD),
        [call()],
        {**ELEMENT, "gradient": "input:x", "expected": 6.0, "tolerance": 1e-5},
    ),
    "missing-gradient": (forward("return x.detach() * self.weight"), [call()], {"gradients": ["input:x"]}),
    "raised": (forward("raise ValueError('only multiples of 8')"), [call()], {"message": "ValueError: only multiples of 8"}),
    "pair": (
        forward("return x * self.weight + x[0, 0]"),
        [
            call(),
            call("moved", recipe={"kind": "permuted", "base": {"kind": "ramp", "low": 1.0, "high": 12.0}, "dim": 0, "perm": "p"}),
        ],
        {**ELEMENT, "tolerance": 1e-5, "order": ORDER, "order_dim": 0},
    ),
    "dtype": (forward("return (x * self.weight).double()"), [call()], {"expected": "float32"}),
    "shape": (forward("return (x * self.weight)[:2]"), [call()], {"expected": [3, 4]}),
    "subclass": (forward("return (x * self.weight).as_subclass(Lazy)", before=SUBCLASS), [call()], {}),
    "device": (forward("return (x * self.weight).to('meta')"), [call()], {"expected": "cpu"}),
    "weightless": (
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self, size):\n        super().__init__()\n\n    def forward(self, x):\n        return x * 2\n",
        [call()],
        {},
    ),
    "weights": (
        forward("return x * self.copy", init="self.copy = None").replace(
            "return x * self.copy",
            "self.copy = self.weight.clone() if self.copy is None else self.copy\n        return x * self.copy",
        ),
        [call(), call("updated", weight={"kind": "constant", "value": 5.0})],
        {**ELEMENT, "expected": 35.0, "tolerance": 1e-4},
    ),
}


def case(kind: str) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    source, calls, evidence = CASES[kind]
    evidence = {"probe": calls[-1]["probe"]["label"], **evidence, "kind": kind}
    return source, calls, evidence


@pytest.mark.parametrize("kind", CASES)
def test_a_broken_kernel_is_reproduced(kind: str, execute: Callable[[str], tuple[int, str]]) -> None:
    code, text = execute(make(*case(kind)))
    assert code == 1, text
    assert sum(line.startswith("REPRODUCED: ") for line in text.splitlines()) == 1, text


@pytest.mark.parametrize("kind", CASES)
def test_an_honest_kernel_is_not(kind: str, execute: Callable[[str], tuple[int, str]]) -> None:
    _, calls, evidence = case(kind)
    if kind == "repeat":
        evidence["runs"] = 3
        calls = [{**calls[0], "probe": {**calls[0]["probe"], "label": evidence["probe"]}}]
    script = make(HONEST, calls, evidence)
    # A race may show rarely, so this check goes on for 20 seconds: shortened here.
    code, text = execute(script.replace("< 20):", "< 0):") if kind == "repeat" else script)
    assert (code, text.splitlines()[-1]) == (0, "not reproduced"), text


def test_every_kind_is_covered() -> None:
    gpu = {"memory", "host-copy", "stream", "resource"}
    assert set(kinds()) == set(CASES) | gpu


@pytest.mark.parametrize("kind", ["memory", "host-copy", "stream"])
def test_what_needs_a_gpu_says_so(kind: str, execute: Callable[[str], tuple[int, str]]) -> None:
    code, text = execute(make(HONEST, [call()], {"kind": kind, "expected": 1 << 20}, device="cpu"))
    assert code == 2
    assert "could not run: this can only be seen on a GPU" in text


GPU_CASES = {
    "memory": (forward("torch.empty(64 << 20, device=x.device)\nreturn x * self.weight"), {"expected": 1 << 20}),
    "host-copy": (forward("return (x.cpu() * self.weight.cpu()).to(x.device)"), {"expected": 0, "got": 2}),
    "stream": (forward("with torch.cuda.stream(torch.cuda.Stream()):\n    return x * self.weight"), {}),
}


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="there is no GPU")
@pytest.mark.parametrize("kind", GPU_CASES)
def test_what_needs_a_gpu_is_reproduced_there(kind: str, execute: Callable[[str], tuple[int, str]]) -> None:
    source, evidence = GPU_CASES[kind]
    code, text = execute(make(source, [call()], {**evidence, "kind": kind}, device="cuda"))
    assert code == 1, text
    code, text = execute(make(HONEST, [call()], {**evidence, "kind": kind}, device="cuda"))
    assert code == 0, text


def test_resource_prints_the_recorded_figures_without_a_call(execute: Callable[[str], tuple[int, str]]) -> None:
    evidence = {"kind": "resource", "kernel": "softmax_kernel", "target": "sm_90", "got": 300000, "expected": 232448}
    code, text = execute(make(HONEST, [], evidence, code="RES-02.shared", device="cpu"))
    assert code == 2
    assert "300000" in text and "232448" in text and "softmax_kernel" in text
    assert text.splitlines()[-1].startswith("could not run: ")


def test_a_script_runs_on_its_own(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(make(*case("value")), "utf-8")
    command = [sys.executable, "-I", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-1].startswith("REPRODUCED: output 0 at [1, 2] is 14.5 instead of 14.0")


def test_a_crash_is_reproduced(execute: Callable[[str], tuple[int, str]]) -> None:
    source = forward("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    code, text = execute(make(source, [call()], {"kind": "raised", "message": "killed by signal 11"}))
    assert code == 1
    assert "REPRODUCED: the process died of signal 11" in text


def test_the_shape_of_a_message_only_finding(execute: Callable[[str], tuple[int, str]]) -> None:
    evidence = {"kind": "shape", "message": "output 0 has shape [2, 4] instead of [3, 4]"}
    assert execute(make(forward("return (x * self.weight)[:2]"), [call()], evidence))[0] == 1
    assert execute(make(HONEST, [call()], evidence))[0] == 0


def test_uninitialised_memory_shows(execute: Callable[[str], tuple[int, str]]) -> None:
    source = forward("y = torch.empty_like(x)\ny[:, :3] = (x * self.weight)[:, :3]\nreturn y")
    evidence = {"kind": "value", "index": [1, 3], "expected": 16.0, "got": "nan", "tolerance": 1e-5}
    code, text = execute(make(source, [call()], evidence))
    assert code == 1, text


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "offset"])
def test_layouts_hold_the_same_values(layout: str, execute: Callable[[str], tuple[int, str]]) -> None:
    source = forward(
        "assert x.stride() == STRIDE and x.storage_offset() == OFFSET, (x.stride(), x.storage_offset())\nreturn x * self.weight"
    )
    stride, offset = {"contiguous": ((4, 1), 0), "transposed": ((1, 3), 0), "strided": ((8, 2), 0), "offset": ((4, 1), 3)}[layout]
    source += f"\nSTRIDE, OFFSET = {stride}, {offset}\n"
    code, text = execute(make(source, [call(layout=layout)], {**ELEMENT, "kind": "value", "expected": 14.0, "tolerance": 1e-6}))
    assert code == 0, text


def test_memory_that_is_never_written_is_not_clean_elsewhere(execute: Callable[[str], tuple[int, str]]) -> None:
    source = forward("y = x * self.weight\ny[2, 3] = float('nan')\nreturn y")
    evidence = {**ELEMENT, "kind": "class", "expected": 14.0, "got": "nan"}
    code, text = execute(make(source, [call()], evidence))
    assert code == 1, text
    assert "1 elements of the output are not finite, and all inputs are" in text


def test_subnormals_are_judged_by_the_nearer_result(execute: Callable[[str], tuple[int, str]]) -> None:
    evidence = {**ELEMENT, "kind": "bits", "expected": 14.0, "got": 0.0, "kept_share": 0.5}
    assert execute(make(forward("return x * self.weight * 1.0001"), [call()], evidence))[0] == 0
    assert execute(make(forward("return x * self.weight * 0"), [call()], evidence))[0] == 1


def test_the_failure_may_show_before_the_last_call(execute: Callable[[str], tuple[int, str]]) -> None:
    calls = [call("first", key="o"), call("second"), call("third", recipe={"kind": "constant", "value": 0.0})]
    evidence = {**ELEMENT, "kind": "stateful", "probe": "second", "expected": 14.0, "tolerance": 1e-5}
    assert execute(make(forward(COUNTING), calls, evidence))[0] == 1
    assert execute(make(HONEST, calls, evidence))[0] == 0


def test_a_kernel_that_keeps_state_is_seen_after_other_calls(execute: Callable[[str], tuple[int, str]]) -> None:
    source = forward("self.first = getattr(self, 'first', x.clone())\nreturn self.first * self.weight")
    recipe = {"kind": "poison", "base": {"kind": "normal"}, "at": [[1, 2]], "value": "nan"}
    code, text = execute(make(source, [call(recipe=recipe)], {**ELEMENT, "kind": "class", "expected": "nan"}))
    assert code == 1, text
    assert "once more, after calls with other inputs:" in text
    assert "REPRODUCED: after calls with other inputs, output 0 at [1, 2] is " in text


def test_a_single_stateful_call_is_made_after_another(execute: Callable[[str], tuple[int, str]]) -> None:
    assert execute(make(forward(COUNTING), [call()], {"kind": "stateful"}))[0] == 1


def test_an_import_that_is_missing_is_named(execute: Callable[[str], tuple[int, str]]) -> None:
    code, text = execute(make("import no_such_package_at_all\n" + HONEST, [call()], {**ELEMENT, "kind": "value", "expected": 1}))
    assert code == 2
    assert "could not run: No module named 'no_such_package_at_all'" in text


def test_a_triton_kernel_runs_interpreted(execute: Callable[[str], tuple[int, str]]) -> None:
    pytest.importorskip("triton")
    source = """
import torch, triton
import triton.language as tl
from torch import nn

@triton.jit
def scale(x, w, y, n, dim, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y + i, tl.load(x + i, mask) * tl.load(w + i % dim, mask) + 0.5, mask)

class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        y = torch.empty_like(x)
        scale[(1,)](x, self.weight, y, x.numel(), x.shape[1], BLOCK=16)
        return y
"""
    finding = Finding("value", "it failed", True, (), {**ELEMENT, "kind": "value", "expected": 14.0, "tolerance": 1e-5})
    script = build_script(
        source=source, entry="ModelNew", finding=finding, calls=[call()], interpret=True, title="CMP-01.value of x"
    )
    code, text = execute(script)
    assert code == 1, text
    assert "14.5" in text


def test_a_script_needs_no_kcbench() -> None:
    for kind in CASES:
        tree = ast.parse(make(*case(kind)))
        imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not any(name.startswith("kcbench") for name in imported)
        assert {name.partition(".")[0] for name in imported} <= {*sys.stdlib_module_names, "torch", "triton"}


def test_a_script_explains_itself() -> None:
    source, calls, evidence = case("gradient")
    doc = ast.get_docstring(ast.parse(make(source, calls, evidence, code="CMP-02.vjp")))
    assert doc is not None and doc.startswith("CMP-02.vjp of x")
    words = " ".join(doc.split())
    assert "float64 autograd" in words and "draw" in words


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain\n",
        'it\'s "quoted"\n',
        "'''\n\"\"\"\n",
        "back\\slash\\",
        "ends in a quote'",
        "\r\nwindows\r\n",
        "\udc80 surrogate",
        "tab\tü ∑\n",
        "\\N{DASH} \\x00",
    ],
)
def test_any_source_can_be_embedded(text: str) -> None:
    assert eval(literal(text)) == text
    literal(text).encode("utf-8")


def test_hostile_titles_and_summaries_stay_text(execute: Callable[[str], tuple[int, str]]) -> None:
    evidence = {
        **ELEMENT,
        "kind": "value",
        "probe": '"""\nimport os; os._exit(7)\n"""',
        "expected": 14.0,
        "message": "\\",
        "got": '"""',
    }
    finding = Finding("value", '"""; raise SystemExit(7)', True, (), evidence)
    title = 'x """\nraise SystemExit(7)\n\\'
    script = build_script(source=HONEST, entry="ModelNew", finding=finding, calls=[call()], interpret=False, title=title)
    assert execute(script)[0] == 0


def test_what_cannot_be_reproduced_is_refused() -> None:
    with pytest.raises(KcbenchError, match="has no kind"):
        make(HONEST, [call()], {})
    with pytest.raises(KcbenchError, match="no reproduction for evidence of kind 'odd'"):
        make(HONEST, [call()], {"kind": "odd"})
    with pytest.raises(KcbenchError, match="names no call"):
        make(HONEST, [], {"kind": "value"})
