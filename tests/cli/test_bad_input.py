"""Whatever is wrong with what was given: exit code 2 and one line that says what, where, and what to do."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcbench.domain.schema import read_json
from kcbench.paths import data_root

GOOD = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"

FILES: list[tuple[str, bytes, str]] = [
    ("kernel.cu", b"__global__ void f() {}", "expected a Python file (.py)"),
    ("binary.py", b"\x7fELF\x00\x01\x02", "not Python source: the file is binary"),
    ("latin.py", "# caf\xe9\n".encode("latin-1"), "not UTF-8 text: byte 0xe9 at offset 5"),
    ("huge.py", b"#" * ((1 << 20) + 1), "the file is larger than 1 MiB"),
    ("empty.py", b"\n  \n", "the file is empty"),
    ("comment.py", b"# kcbench: task=level1/relu\n", "no class ModelNew"),
    ("syntax.py", b"class ModelNew:\n    def forward(self, x)\n        return x\n", "syntax error in line 2: expected ':'"),
    ("deep.py", b"x = " + b"(" * 5000 + b")" * 5000 + b"\n", "syntax"),
    ("none.py", b"class Model:\n    pass\n", "no class ModelNew"),
    ("method.py", b"class A:\n    class ModelNew:\n        pass\n", "no class ModelNew"),
    (
        "two.py",
        b"class ModelNew:\n    pass\n\n\nclass ModelNew:\n    pass\n",
        "2 classes ModelNew, in lines 1 and 5: one is wanted",
    ),
    (
        "task.py",
        b"# kcbench: task=level1/sofmax\n" + GOOD.encode(),
        "unknown task 'level1/sofmax' (did you mean 'level1/softmax'?)",
    ),
    (
        "key.py",
        b"# kcbench: pack-weights=true\n" + GOOD.encode(),
        "unknown header key 'pack-weights' (did you mean 'packs-weights'?)",
    ),
    ("flag.py", b"# kcbench: packs-weights=yes\n" + GOOD.encode(), "header key 'packs-weights' is true or false, not 'yes'"),
    ("tongue.py", b"# kcbench: language=Triton\n" + GOOD.encode(), "header key 'language' is triton or cuda, not 'Triton'"),
    ("homeless.py", GOOD.encode(), "its task is not known"),
]


def refuses(outcome: Any, *parts: str) -> None:
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1, outcome.err
    assert outcome.err.startswith("error: ")
    for part in parts:
        assert part in outcome.err


@pytest.mark.parametrize(("name", "content", "expected"), FILES, ids=[name for name, _, _ in FILES])
def test_submission(name: str, content: bytes, expected: str, tmp_path: Path, run: Callable[..., Any]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refuses(run("eval", path), str(path), expected)


def test_no_such_path(tmp_path: Path, run: Callable[..., Any]) -> None:
    refuses(run("eval", tmp_path / "nowhere"), str(tmp_path / "nowhere"), "no such file or folder")


def test_not_a_file(tmp_path: Path, run: Callable[..., Any]) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    refuses(run("eval", tmp_path / "pipe.py"), "expected a file or a folder, found something else")


def test_empty_folder(tmp_path: Path, run: Callable[..., Any]) -> None:
    refuses(run("eval", tmp_path), str(tmp_path), "no .py file in this folder")


def test_nothing_that_can_be_scored(tmp_path: Path, run: Callable[..., Any]) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("def")
    refuses(run("eval", tmp_path, "--task", "level1/relu"), "a.py: no class ModelNew (none of 2 submissions can be scored")


def test_unknown_task(tmp_path: Path, run: Callable[..., Any]) -> None:
    (tmp_path / "a.py").write_text(GOOD)
    refuses(run("eval", tmp_path / "a.py", "--task", "relu"), "--task: unknown task 'relu' (did you mean 'level1/relu'?)")
    refuses(run("tasks", "show", "level1/softmx"), "level1/softmax")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--gates", "CMP-1"], "--gates: unknown name 'CMP-1' (did you mean CMP-01?)"),
        (["--legacy", "kernelbench-1"], "--legacy: unknown name 'kernelbench-1' (did you mean kernelbench-v1?)"),
        (["--json", "/nowhere/out.json"], "/nowhere/out.json: the folder of this file does not exist"),
        (["--json", "/"], "/: expected a file, found a folder"),
        (["--out", "/dev/null/run"], "/dev/null/run: the run folder cannot be written: Not a directory"),
        (["--out", "/proc/run"], "/proc/run: the run folder cannot be written"),
        (["--resume", "--out", "/nowhere"], "/nowhere: holds no run to go on with"),
        (["--resume"], "runs: there is no run to go on with"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_option(
    options: list[str], expected: str, tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(GOOD)
    refuses(run("eval", "a.py", "--task", "level1/relu", "--device", "cpu", *options), expected)


@pytest.mark.parametrize(
    "arguments",
    [["eval"], ["eval", "x.py", "--jobs", "0"], ["eval", "x.py", "--device", "tpu"], ["evl"], ["tasks", "show"], ["--nonsense"]],
    ids=" ".join,
)
def test_usage(arguments: list[str], run: Callable[..., Any]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Usage: kcbench" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("command", ["report", "show", "repro"])
def test_run_folder(command: str, tmp_path: Path, run: Callable[..., Any]) -> None:
    more = {"report": [], "show": ["x"], "repro": ["x", "CMP-01"]}[command]
    refuses(run(command, tmp_path / "none", *more), str(tmp_path / "none"), "is not a run folder: it has no run.json")
    (tmp_path / "run.json").write_text('{"format": 99}')
    refuses(run(command, tmp_path, *more), "run.json: has format 99")
    (tmp_path / "run.json").write_text('{"format": 1}')
    refuses(run(command, tmp_path, *more), "run.json: $: expected the key 'kcbench_version', found only 'format'")


def test_broken_contract(tmp_path: Path, run: Callable[..., Any]) -> None:
    folder = tmp_path / "level1" / "relu"
    folder.mkdir(parents=True)
    path = folder / "contract.json"
    data = read_json(data_root() / "tasks" / "level1" / "relu" / "contract.json")
    path.write_text(json.dumps(data))
    assert run("contract", "validate", tmp_path).out == "1 contract is valid\n"

    data["dtypes"] = ["float33"]
    data["axes"]["dim"]["gate"] = 0
    path.write_text(json.dumps(data))
    outcome = run("contract", "validate", path)
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        f"{path}: $.axes.dim.gate: expected a number of at least 1, found 0",
        f"{path}: $.dtypes[0]: expected one of float64, float32, float16, bfloat16, found \"float33\" (did you mean 'float32'?)",
    ]

    path.write_text("{")
    outcome = run("contract", "validate", tmp_path)
    assert outcome.code == 2
    assert outcome.err == f"{path}: line 1, column 2: not JSON: expecting property name enclosed in double quotes\n"


def test_contract_in_the_wrong_place(tmp_path: Path, run: Callable[..., Any]) -> None:
    folder = tmp_path / "level1" / "other"
    folder.mkdir(parents=True)
    path = folder / "contract.json"
    path.write_bytes((data_root() / "tasks" / "level1" / "relu" / "contract.json").read_bytes())
    (folder / "task.py").write_text("batch_size, x = 3, 4\n")
    outcome = run("contract", "validate", tmp_path)
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        f'{path}: $.task: expected "level1/other", the folder\'s name, found "level1/relu"',
        *(
            f"{path}: $.axes.{name}: expected a module constant of task.py on a line of its own, found none of that name"
            for name in ("batch_size", "dim")
        ),
    ]
    refuses(run("contract", "validate", tmp_path / "level2"), "no such file or folder")


def test_shipped_contracts_are_valid(run: Callable[..., Any]) -> None:
    outcome = run("contract", "validate", data_root() / "tasks")
    assert outcome.code == 0, outcome.err


def test_bug_in_kcbench(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(root: Path | None) -> list[str]:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr("kcbench.tasks.list_tasks", fail)
    outcome = run("tasks", "list")
    assert outcome.code == 3
    assert outcome.err == (
        "internal error: ZeroDivisionError: oh no (this is a bug in kcbench; KCBENCH_DEBUG=1 shows the traceback)\n"
    )
    monkeypatch.setenv("KCBENCH_DEBUG", "1")
    assert "Traceback" in run("tasks", "list").err


def test_missing_extra(tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name == "torch" else find(name, *more))
    (tmp_path / "a.py").write_text(GOOD)
    refuses(run("eval", tmp_path / "a.py", "--task", "level1/relu"), "torch is not installed (pip install 'kcbench[eval]')")


def test_module_can_be_run() -> None:
    done = subprocess.run([sys.executable, "-m", "kcbench", "eval", "/nowhere"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: /nowhere: no such file or folder\n")
