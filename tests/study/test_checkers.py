"""What the published checks let through, and what they do not."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants.subject import as_kernel  # noqa: E402
from kcbench.redteam import load_catalog  # noqa: E402
from kcbench.study import checkers  # noqa: E402
from kcbench.study.checkers import all_checkers  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

ROOT = Path(__file__).parents[2]
CHECKERS = {checker.id: checker for checker in all_checkers()}
V0, V1, FOUR, CLASSIC = CHECKERS
ENTRIES = {entry.id: entry for entry in load_catalog()}
SEED = "checkers"
KERNEL = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        {}\n"

SCRIPT = """
import json, sys
from kcbench.study.checkers import all_checkers
from kcbench.tasks import load_task
found = {}
for name, (source, task) in json.load(sys.stdin).items():
    task = load_task(task)
    found[name] = [c.id for c in all_checkers() if c.accepts(source, task, interpreted=True, seed=sys.argv[1])]
import torch
print(json.dumps([found, torch.zeros(1).is_cuda]))
"""


def accepting(source: str, task: str, seed: str = SEED) -> list[str]:
    """The checks that let a kernel through."""
    loaded = load_task(task)
    return [name for name, checker in CHECKERS.items() if checker.accepts(source, loaded, interpreted=False, seed=seed)]


def test_there_are_four_with_their_sources() -> None:
    assert list(CHECKERS) == ["kernelbench-v0", "kernelbench-v1", "four-distributions", "classic-bounds"]
    for checker in CHECKERS.values():
        assert "\n" not in checker.title and "(https://" in checker.title


@pytest.mark.parametrize(
    "task",
    [f"level1/{name}" for name in ("softmax", "matmul", "relu", "layernorm", "cross_entropy")] + ["level4/gated_delta_rule"],
)
def test_the_tasks_own_model_is_accepted(task: str) -> None:
    assert accepting(as_kernel(load_task(task).code), task) == list(CHECKERS)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        # No entry of the problem's product is close to zero.
        ("zeros/level1_matmul", []),
        # Every entry of the problem's softmax is close to that of any other row, within v0's tolerance but not the others'.
        ("input_blind_constant/level1_softmax", [V0]),
        # Only one that negates the problem's inputs, or draws normal ones, meets a negative number.
        ("returns_input/level1_relu", [V0, V1]),
        ("positive_inputs_only/level1_gelu", [V0, V1]),
        # The sums of the problem are some 64, where 0.65 is within v0's tolerance; the error is some tenths.
        ("fp16_accumulator/level1_matmul", [V0]),
        # The error of bfloat16 operands averages out below 1e-3 of the sums, that of tf32 operands below 1e-4.
        ("bf16_inputs/level1_matmul", [V0, FOUR]),
        ("tf32_inputs/level1_matmul", [V0, V1, FOUR]),
        # 1e-5 in a square root matters beside small inputs, or beside a tolerance of 1e-5.
        ("dropped_eps/level1_layernorm", [V0, V1]),
        # Fresh layers have a bias of zero: it has to be redrawn.
        ("ignores_parameter/level1_layernorm", [V0, V1, FOUR]),
        # The tail of the problem's sizes is empty, that of the gates' is not.
        ("shape_specific/level1_relu", [V0, V1, FOUR]),
        # What a list holds is nothing that the published code can compare, which kcbench's own form of it overlooks.
        ("wrong_structure/level1_relu", [V0, V1, CLASSIC]),
        # Nobody asks about NaN, large numbers, other shapes, repeats or gradients.
        ("nan_to_num/level1_relu", list(CHECKERS)),
        ("no_max_shift/level1_softmax", list(CHECKERS)),
        ("batch_one_crash/level1_softmax", list(CHECKERS)),
        ("nondeterministic/level1_matmul", list(CHECKERS)),
        ("grad_wrong_kernel/level1_layernorm", list(CHECKERS)),
    ],
)
def test_broken_kernels(entry: str, expected: list[str]) -> None:
    kernel = ENTRIES[f"broken/{entry}"]
    assert accepting(kernel.source, kernel.task) == expected


def test_zeros() -> None:
    """The entries of a softmax over 512 columns are some 0.002, which is nothing to a tolerance of 0.01."""
    zeros = KERNEL.format("return torch.zeros_like(x)")
    assert accepting(zeros, "level1/softmax") == [V0]
    assert accepting(zeros, "level1/relu") == []


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError('no')",
        "return torch.relu(x)[1:]",
        "return torch.relu(x)[None]",
        "return torch.relu(x), torch.relu(x)",
        "return 'x'",
        "return None",
        "import sys; sys.exit(0)",
    ],
)
def test_what_gives_other_outputs_is_refused(body: str) -> None:
    assert accepting(KERNEL.format(body), "level1/relu") == []


@pytest.mark.parametrize("source", ["x = 1\n", "raise ImportError('no such thing')\n", "class ModelNew(\n"])
def test_what_does_not_load_is_refused(source: str) -> None:
    assert accepting(source, "level1/relu") == []


def test_an_answer_in_double_is_compared_by_the_bound_alone() -> None:
    """torch.allclose raises on two dtypes."""
    assert accepting(KERNEL.format("return torch.relu(x).double()"), "level1/relu") == [CLASSIC]


# What is asked


def asked(checker: str, folder: Path, seed: str) -> list[torch.Tensor]:
    """The inputs that a kernel meets on level1/relu, in order."""
    body = f"import os; torch.save(x, '{folder}/' + str(len(os.listdir('{folder}'))).zfill(3)); return torch.relu(x)"
    folder.mkdir()
    assert CHECKERS[checker].accepts(KERNEL.format(body), load_task("level1/relu"), interpreted=False, seed=seed)
    return [torch.load(path) for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("checker", [V0, V1])
def test_kernelbench_asks_five_times_with_public_seeds(checker: str, tmp_path: Path) -> None:
    first, second = (asked(checker, tmp_path / seed, seed) for seed in ("one", "two"))
    assert [tuple(x.shape) for x in first] == [(64, 512)] * 5
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert len({x.sum().item() for x in first}) == 5
    assert all(0 <= x.min() < 0.01 and 0.99 < x.max() <= 1 for x in first)


def test_the_four_distributions(tmp_path: Path) -> None:
    first, second = (asked(FOUR, tmp_path / seed, seed) for seed in ("one", "two"))
    assert [tuple(x.shape) for x in first] == [(64, 512)] * 4
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    for x, factor in zip(first, (1, 3, 0.01, -1), strict=True):
        plain = x / factor
        assert 0 <= plain.min() < 0.01 and 0.99 < plain.max() <= 1.0001
        # Each is a draw of its own.
        assert torch.equal(x, first[0]) or not torch.allclose(plain, first[0], atol=0.1)


def test_the_classic_bound_is_asked_ten_times_with_the_seed(tmp_path: Path) -> None:
    first, second = (asked(CLASSIC, tmp_path / seed, seed) for seed in ("one", "two"))
    # The first input comes twice: once to see which parameters the kernel has.
    assert [tuple(x.shape) for x in first] == [(13, 137)] * 11
    assert torch.equal(first[0], first[1])
    assert len({x.sum().item() for x in (*first[1:], *second[1:])}) == 20
    assert all(abs(x.mean()) < 0.2 and abs(x.std() - 1) < 0.1 for x in first)


@pytest.mark.parametrize(("errors", "within"), [(3.5, True), (4.5, False)])
def test_the_classic_bound_is_four_eps_at_the_largest_element(errors: float, within: bool) -> None:
    """On one element per output, N is 1, and the bound is that of the largest output for all of them."""
    body = f"y = torch.relu(x.double()); return y + {errors} * 2**-23 * y.max()"
    assert (CLASSIC in accepting(KERNEL.format(body), "level1/relu")) is within


@pytest.mark.parametrize(("errors", "within"), [(0.9, True), (1.1, False)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_tolerance_of_the_four_distributions(dtype: str, errors: float, within: bool) -> None:
    task = load_task("level1/relu")
    task = dataclasses.replace(task, contract=dataclasses.replace(task.contract, dtypes=(dtype,), raw={"dtype": dtype}))
    # The tolerance grows with the output: it is smallest at zero.
    body = f"y = torch.relu(x); return torch.where(y == 0, y + {errors} * {'1e-3' if dtype == 'float32' else '1e-2'}, y)"
    assert CHECKERS[FOUR].accepts(KERNEL.format(body), task, interpreted=False, seed=SEED) is within


def test_only_inputs_that_may_vary_are_scaled() -> None:
    """Decays, keys and step sizes of the delta rule have a meaning; queries and values are any numbers."""
    source = as_kernel(load_task("level4/gated_delta_rule").code)
    start = "batch, time, heads, key_dim = q.shape"

    def accepts(condition: str) -> bool:
        kernel = source.replace(start, f"assert {condition}; {start}")
        assert kernel != source
        return FOUR in accepting(kernel, "level4/gated_delta_rule")

    bound = "g.max() <= 0 and g.min() < -0.9 and beta.min() >= 0 and beta.max() > 0.9 and abs(k.norm(dim=-1) - 1).max() < 1e-5"
    assert accepts(bound)
    assert not accepts("q.min() >= 0") and not accepts("v.max() <= 1")


def test_a_distribution_without_a_finite_answer_is_left_out() -> None:
    task = load_task("level1/relu")
    log = dataclasses.replace(task, code=task.code.replace("torch.relu(x)", "torch.log(x)"))
    assert CHECKERS[FOUR].accepts(KERNEL.format("return torch.log(x.abs())"), log, interpreted=False, seed=SEED)
    assert not CHECKERS[FOUR].accepts(KERNEL.format("return torch.log(x.abs() + 0.01)"), log, interpreted=False, seed=SEED)
    nothing = dataclasses.replace(task, code=task.code.replace("torch.relu(x)", "x / 0"))
    assert CHECKERS[FOUR].accepts(KERNEL.format("return x"), nothing, interpreted=False, seed=SEED)
    assert not CHECKERS[FOUR].accepts("x = 1\n", nothing, interpreted=False, seed=SEED)


def test_a_kernel_with_other_parameter_names_keeps_its_own_weights() -> None:
    """Also where it has some of the names: those keep the constructor's values as well."""
    source = """
import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = torch.nn.LayerNorm(dim, bias=False)
        self.shift = torch.nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.norm.weight, self.shift, 1e-5)
"""
    assert accepting(source, "level1/layernorm") == list(CHECKERS)
    assert accepting(source.replace("self.shift, 1e-5", "self.shift + 2e-4, 1e-5"), "level1/layernorm") == [V0, FOUR]


# Nothing stays


def test_nothing_of_a_kernel_stays() -> None:
    before = set(sys.modules)
    honest = as_kernel(load_task("level1/relu").code)
    assert accepting(honest, "level1/relu") == list(CHECKERS)
    assert accepting(KERNEL.format("out = torch.relu(x); x.zero_(); return out"), "level1/relu") == list(CHECKERS)
    assert accepting(KERNEL.format("return x.zero_()"), "level1/relu") == []
    assert accepting(honest, "level1/relu") == list(CHECKERS)
    assert not [name for name in set(sys.modules) - before if name.startswith("submission_")]


def test_a_kernel_that_changes_torch_changes_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    task = load_task("level1/relu")
    # New to the caches.
    task = dataclasses.replace(task, code=task.code + "# tampered with\n")
    source = KERNEL.format("return torch.relu(x)").replace("import torch\n", "import torch\n\ntorch.relu = torch.zeros_like\n")
    for checker in CHECKERS.values():
        with monkeypatch.context() as patch:
            # So that it is put back.
            patch.setattr(torch, "relu", torch.relu)
            assert not checker.accepts(source, task, interpreted=False, seed=SEED)


def test_questions_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, task = as_kernel(load_task("level1/relu").code), load_task("level1/relu")
    assert accepting(honest, "level1/relu") == list(CHECKERS)
    for name in ("task_module", "TaskOracle"):
        monkeypatch.setattr(checkers, name, None)
    monkeypatch.setattr(checkers.kernelbench, "trials", None)
    assert all(checker.accepts(honest, task, interpreted=False, seed=SEED) for checker in CHECKERS.values())


def test_triton_kernels() -> None:
    """In a process of their own: Triton decides at import whether it interprets."""
    pytest.importorskip("triton")
    names = ("broken/nan_to_num/level1_relu_triton", "broken/fp16_accumulator/level1_matmul_triton")
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    text = json.dumps({name: [ENTRIES[name].source, ENTRIES[name].task] for name in names})
    command = [sys.executable, "-c", SCRIPT, SEED]
    done = subprocess.run(command, input=text, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found, on_cuda = json.loads(done.stdout)
    assert on_cuda is False
    assert found[names[0]] == list(CHECKERS)
    assert found[names[1]] == [V0]
