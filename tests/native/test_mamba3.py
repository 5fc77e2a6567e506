"""The Mamba-3 kernels on Triton's interpreter, against their tasks' models in float64; and compiled, against the budgets of GPUs.

The interpreter has to be chosen before Triton is imported, so that most of this file runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kcbench.suites.folder import discover

pytest.importorskip("triton")

from native_kernels.gdn.cases import error
from native_kernels.mamba3.cases import FOLDER, NAMES, entry_model, make_inputs, results, truth_model

HERE = Path(__file__).parent
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
SIZES = {"batch_size": 2, "seq_len": 70, "num_heads": 2, "num_angles": 4, "value_dim": 16, "mimo_rank": 4}
SMALL = {"batch_size": 1, "seq_len": 20, "num_heads": 2, "num_angles": 4, "value_dim": 16, "mimo_rank": 4}
VARIED = [
    # Nothing is a power of two, and some keys are never turned.
    {"batch_size": 1, "seq_len": 37, "num_heads": 3, "num_angles": 5, "key_dim": 22, "value_dim": 37, "mimo_rank": 3},
    {"batch_size": 1, "seq_len": 3, "num_heads": 1, "num_angles": 8, "value_dim": 64, "mimo_rank": 8},
    {"batch_size": 1, "seq_len": 64, "num_heads": 1, "num_angles": 1, "key_dim": 2, "value_dim": 1, "mimo_rank": 1},
]
PACKED = [(0, 5, 6, 38, 70), (0, 70)]
WHOLE = [name for name in NAMES if "varlen" not in name]
CASES = [(name, SIZES, bounds) for name in NAMES for bounds in (PACKED if "varlen" in name else [()])]
CASES += [(name, sizes, ()) for name in WHOLE for sizes in VARIED]
BOUNDS = {torch.float32: 2e-6, torch.float16: 1.5e-3}

interpreted = pytest.mark.skipif(not INTERPRETED, reason="runs in the process that test_on_the_interpreter starts")
outside = pytest.mark.skipif(INTERPRETED, reason="this is the process that the test starts")


@outside
def test_the_folder_holds_entries_and_nothing_else_to_score() -> None:
    found = discover([FOLDER])
    assert sorted(item.task for item in found) == [f"level4/{name}" for name in NAMES]
    assert {(item.language, item.problem) for item in found} == {("triton", "")}


@outside
@pytest.mark.slow
def test_on_the_interpreter() -> None:
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=env, cwd=FOLDER.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@interpreted
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize(("name", "sizes", "bounds"), CASES)
def test_an_entry_computes_its_task_and_its_gradient(
    name: str, sizes: dict[str, int], bounds: tuple[int, ...], dtype: torch.dtype
) -> None:
    few = {"seq_len": 5} if name.endswith("_decode") else {}
    plain = make_inputs(name, boundaries=bounds, **{**sizes, **few})
    inputs = {key: x.to(dtype) if x.is_floating_point() else x for key, x in plain.items()}
    exact = {key: x.double() if x.is_floating_point() else x for key, x in inputs.items()}
    found, wanted = results(name, entry_model(name), inputs), results(name, truth_model(name), exact)
    assert list(found) == list(wanted)
    for key, x in found.items():
        assert (x.dtype, x.shape) == (dtype, wanted[key].shape), key
        if wanted[key].norm() > 0:
            assert error(x, wanted[key]) < BOUNDS[dtype], key
        else:
            assert not x.any(), key


@interpreted
@pytest.mark.parametrize("name", ["mamba3_siso_varlen", "mamba3_mimo_varlen"])
def test_an_empty_sequence_changes_nothing(name: str) -> None:
    found, wanted = (
        results(name, entry_model(name), make_inputs(name, boundaries=bounds, **SMALL))
        for bounds in ((0, 0, 5, 5, 20), (0, 5, 20))
    )
    assert all(torch.equal(x, wanted[key]) for key, x in found.items())


@interpreted
@pytest.mark.parametrize("name", NAMES)
def test_equal_calls_give_equal_bits_whatever_the_strides(name: str) -> None:
    inputs = make_inputs(name, **SMALL)
    apart = {key: x.repeat_interleave(2, -1)[..., ::2] if x.is_floating_point() else x for key, x in inputs.items()}
    assert not any(x.is_contiguous() for x in apart.values() if x.is_floating_point())
    found, wanted = results(name, entry_model(name), apart), results(name, entry_model(name), inputs)
    assert all(torch.equal(x, wanted[key]) for key, x in found.items())


@interpreted
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("spoilt", ["k", "v", "adt", "angles"])
def test_what_is_not_finite_stays_so(name: str, spoilt: str) -> None:
    inputs = make_inputs(name, **SMALL)
    inputs[spoilt].view(-1)[inputs[spoilt].numel() // 2] = torch.nan
    found, wanted = results(name, entry_model(name), inputs), results(name, truth_model(name), inputs)
    assert any(x.isnan().any() for x in wanted.values())
    for key, x in wanted.items():
        assert not (x.isnan() & ~found[key].isnan()).any(), key


@interpreted
@pytest.mark.parametrize("name", WHOLE)
def test_an_empty_batch(name: str) -> None:
    inputs = make_inputs(name, **{**SMALL, "batch_size": 0})
    found, wanted = results(name, entry_model(name), inputs), results(name, truth_model(name), inputs)
    assert {key: x.shape for key, x in found.items()} == {key: x.shape for key, x in wanted.items()}
    assert not any(x.any() for x in found.values())


@outside
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mimo_v": torch.zeros(2, 4, 16)}, "mimo_v and mimo_o go together"),
        ({"q": torch.zeros(2, 70, 2, 15)}, "keys come in pairs, not 15"),
        ({"angles": torch.zeros(2, 70, 2, 9)}, "16 keys have at most 8 angles, not 9"),
        (
            {
                "q": torch.zeros(2, 70, 2, 65, 16),
                "mimo_v": torch.zeros(2, 65, 16),
                "mimo_o": torch.zeros(2, 65, 16),
            },
            "at most 64 ranks, not 65",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, torch.Tensor], message: str) -> None:
    from native_kernels.mamba3.ops import mamba3

    with pytest.raises(ValueError, match=message):
        mamba3(**{**make_inputs("mamba3_siso", **SIZES), **changes})


@outside
@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_compiled_kernels_fit(target: str, tmp_path: Path) -> None:
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    command = [sys.executable, str(HERE / "mamba3_compiled.py"), target]
    done = subprocess.run(command, env=env, cwd=FOLDER.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    names = json.loads(done.stdout)
    command = [sys.executable, "-m", "kcbench", "resources", str(tmp_path), "--target", target, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    budgets: list[dict[str, Any]] = json.loads(done.stdout)["budgets"]
    assert len(budgets) == len(names) and {budget["kernel"] for budget in budgets} == set(names)
    for budget in budgets:
        assert budget["fits"], budget
        assert budget["figures"]["spills"] <= 64, budget
    if target == "sm_100":
        assert any(budget["figures"]["columns"] > 0 for budget in budgets)
