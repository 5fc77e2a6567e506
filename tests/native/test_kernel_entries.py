"""The entries that `kcbench eval native_kernels/gdn` scores, each against its task's model in float64, on the CPU emulator."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kcbench.domain.observation import Raised
from kcbench.engine.needs_gpu import needs_gpu
from kcbench.suites.folder import discover
from native_kernels.gdn.build import FOLDER
from native_kernels.gdn.cases import error
from native_kernels.gdn.emulator import compiler
from native_kernels.gdn.errors import KernelError
from native_kernels.gdn.functional import chunk_gla

ROOT = FOLDER.parents[1]
ENTRIES = sorted(path.parent.name for path in FOLDER.glob("level4/*/native.py"))
TOKENS = {"batch_size": 1, "seq_len": 70, "total_len": 70, "num_boundaries": 4}
HEADS = {"num_heads": 1, "group_size": 2, "num_groups": 1, "heads_per_group": 2}
SIZES = TOKENS | HEADS | {"key_dim": 64, "value_dim": 64, "head_dim": 32, "state_dim": 64}


@pytest.fixture(autouse=True)
def emulate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCBENCH_NATIVE_EMULATE", "1")


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_folder_holds_entries_and_nothing_else_to_score():
    found = discover([FOLDER])
    assert [item.task for item in found] == [f"level4/{name}" for name in ENTRIES]
    assert not any(item.problem for item in found)


@pytest.mark.slow
@pytest.mark.skipif(not compiler(), reason="needs a C++20 compiler (g++ 12 or newer)")
@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_computes_its_task_and_its_gradient(name: str):
    task = load(ROOT / "tasks" / "level4" / name / "task.py", f"task_{name}")
    for size in SIZES.keys() & vars(task).keys():
        setattr(task, size, SIZES[size])
    torch.manual_seed(0)
    inputs = [x.bfloat16() if x.is_floating_point() else x for x in task.get_inputs()]
    live = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    exact = [x.detach().double().requires_grad_() if x.is_floating_point() else x for x in inputs]
    found = load(FOLDER / "level4" / name / "native.py", f"native_{name}").ModelNew()(*live)
    wanted = task.Model()(*exact)
    pairs = list(zip(found, wanted, strict=True)) if isinstance(found, tuple) else [(found, wanted)]
    for mine, truthful in pairs:
        assert mine.dtype == torch.bfloat16
        assert error(mine, truthful) < 2.0e-3
    gradients = [
        torch.autograd.grad(sum(x.double().sum() for x in results), [x for x in tensors if x.requires_grad])
        for results, tensors in (([mine for mine, _ in pairs], live), ([truthful for _, truthful in pairs], exact))
    ]
    for mine, truthful in zip(*gradients, strict=True):
        assert error(mine, truthful) < 4.0e-3


def test_on_a_cpu_without_the_emulator_there_is_no_verdict(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("KCBENCH_NATIVE_EMULATE")
    x = torch.zeros(1, 1, 1, 64)
    with pytest.raises(KernelError, match="tensors must be on a GPU") as caught:
        chunk_gla(x, x, x, g=x)
    assert needs_gpu(Raised("KernelError", str(caught.value), ""))
