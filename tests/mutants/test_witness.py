"""A witness is found for every planted fault, and for no honest change."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import subjects  # noqa: E402
from kcbench.mutants.mutant import mutants  # noqa: E402
from kcbench.mutants.witness import FACTOR, Bench, NotRunnableError, Witness  # noqa: E402
from kcbench.oracle.oracle import TaskOracle  # noqa: E402

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
RELU = "class ModelNew(nn.Module):\n    def forward(self, x):\n        {}\n"
SOFTMAX = RELU
LAYERNORM = """
class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x):
        {}
"""


@pytest.fixture(scope="module")
def benches() -> dict[str, Bench]:
    found = {}
    for name in ("level1/relu", "level1/softmax", "level1/layernorm", "level1/matmul"):
        subject = next(iter(subjects([name])))
        found[name] = Bench(subject.source, subject.task, TaskOracle(subject.task, seed="witness"))
    return found


def find(benches: dict[str, Bench], task: str, frame: str, body: str) -> Witness | None:
    return benches[f"level1/{task}"].find_witness(HEAD + frame.replace("{}", body))


HONEST = [
    ("relu", RELU, "return torch.where(x < 0, torch.zeros_like(x), x)"),
    ("relu", RELU, "return (x + x.abs()) / 2 if bool((x.abs() < 1e30).all()) else torch.relu(x)"),
    ("relu", RELU, "return torch.relu(x.double()).to(x.dtype)"),
    ("relu", RELU, "return torch.relu(x).detach()"),
    ("relu", RELU, "return torch.relu(x.flip(0)).flip(0)"),
    ("softmax", SOFTMAX, "return torch.softmax(x.flip(1), 1).flip(1)"),
    (
        "softmax",
        SOFTMAX,
        "e = torch.exp(x.float() - x.detach().float().amax(1, keepdim=True) if x.numel() else x.float()); return (e / e.sum(1, keepdim=True)).to(x.dtype)",
    ),
    ("softmax", SOFTMAX, "assert x.dtype != torch.float16; return torch.softmax(x, 1)"),
    ("layernorm", LAYERNORM, "return F.layer_norm(x, x.shape[-1:], self.norm.weight, self.norm.bias, 1e-5)"),
    ("matmul", RELU.replace("self, x", "self, A, B"), "return (B.mT @ A.mT).mT"),
    (
        "matmul",
        RELU.replace("self, x", "self, A, B"),
        "work = torch.promote_types(A.dtype, torch.float32); return sum(a.to(work) @ b.to(work) for a, b in zip(A.split(7, 1), B.split(7, 0))).to(A.dtype)",
    ),
]


@pytest.mark.parametrize(("task", "frame", "body"), HONEST, ids=[f"{task}: {body[:50]}" for task, _, body in HONEST])
def test_an_equivalent_change_has_none(benches: dict[str, Bench], task: str, frame: str, body: str) -> None:
    assert find(benches, task, frame, body) is None


def test_what_is_left_where_inputs_cancel_is_rounding() -> None:
    """One class: the loss is zero, and a shift that cancels leaves its own rounding."""
    subject = next(item for item in subjects(["level1/cross_entropy"]) if item.id.endswith("/online"))
    bench = Bench(subject.source, subject.task, TaskOracle(subject.task, seed="study/calibration"))
    changed = [item.source for item in mutants(subject.source) if "new_peak is kept in bfloat16" in item.description]
    assert len(changed) == 1 and bench.find_witness(changed[0]) is None


BROKEN = [
    (
        "outside",
        "relu",
        RELU,
        "import gc; [t.fill_(0) for t in gc.get_objects() if type(t) is torch.Tensor and t.shape == (512,)]; return F.relu(x)",
    ),
    ("value", "relu", RELU, "return F.leaky_relu(x, 1e-3)"),
    ("value", "relu", RELU, "return torch.relu(x) * 1.0001"),
    ("value", "relu", RELU, "return torch.relu(x).to(torch.bfloat16).to(x.dtype)"),
    ("value", "relu", RELU, "return torch.relu(x if x.shape[1] != 1013 else x * 2)"),
    ("value", "relu", RELU, "return torch.relu(torch.where(x.abs() < 3e-7, 0 * x, x))"),
    ("value", "relu", RELU, "return torch.where(x.abs() < torch.finfo(x.dtype).smallest_normal, 0 * x, torch.relu(x))"),
    ("class", "relu", RELU, "return torch.where(x > 0, x, torch.zeros_like(x))"),
    ("class", "relu", RELU, "return torch.relu(x).clamp(max=3e38)"),
    ("form", "relu", RELU, "return torch.relu(x).float()"),
    ("form", "relu", RELU, "return torch.relu(x), x"),
    ("raised", "relu", RELU, "assert x.numel(); return torch.relu(x)"),
    ("raised", "relu", RELU, "return torch.relu(x.view(-1)).view(x.shape)"),
    ("repeat", "relu", RELU, "return torch.relu(x) + torch.rand_like(x) * 1e-30"),
    ("alias", "relu", RELU, "return x.detach() if bool((x >= 0).all()) else torch.relu(x)"),
    ("mutates", "relu", RELU, "out = torch.relu(x); x.detach().add_(1); return out"),
    ("gradient", "relu", RELU, "return torch.relu(x) + torch.where(x.isfinite(), x - x.detach(), torch.zeros_like(x))"),
    (
        "no-gradient",
        "relu",
        RELU,
        "y = x.exp(); out = torch.relu(x) + 0 * y.nan_to_num().square(); y.mul_(2) if x.requires_grad else None; return out if x.requires_grad else torch.relu(x)",
    ),
    ("class", "softmax", SOFTMAX, "e = torch.exp(x.float()); return (e / e.sum(1, keepdim=True)).to(x.dtype)"),
    (
        "class",
        "softmax",
        SOFTMAX,
        "y = x.float(); e = torch.exp(y - y.detach().amax(1, keepdim=True).clamp_min(0)); return (e / e.sum(1, keepdim=True)).to(x.dtype)",
    ),
    ("value", "softmax", SOFTMAX, "return torch.softmax(x, 0)"),
    ("value", "layernorm", LAYERNORM, "return F.layer_norm(x, x.shape[-1:], self.norm.weight, self.norm.bias, 0.0)"),
    ("value", "layernorm", LAYERNORM, "return F.layer_norm(x, x.shape[-1:], self.norm.weight)"),
]


@pytest.mark.parametrize(("kind", "task", "frame", "body"), BROKEN, ids=[f"{task}: {body[:60]}" for _, task, _, body in BROKEN])
def test_a_fault_has_one(benches: dict[str, Bench], kind: str, task: str, frame: str, body: str) -> None:
    found = find(benches, task, frame, body)
    assert found is not None
    assert found.kind == kind, found
    assert found.kind not in ("value", "gradient") or found.excess > FACTOR


def test_stale_weights_have_one(benches: dict[str, Bench]) -> None:
    body = (
        "if not hasattr(self, 'kept'):\n            self.kept = self.norm.weight.detach().clone()\n"
        "        return F.layer_norm(x, x.shape[-1:], self.kept.to(x.dtype) if len(self.kept) == x.shape[-1] else self.norm.weight, self.norm.bias)"
    )
    found = find(benches, "layernorm", LAYERNORM, body)
    assert found is not None and found.kind == "value"


def test_narrow_operands_have_one(benches: dict[str, Bench]) -> None:
    frame = RELU.replace("self, x", "self, A, B")
    found = find(benches, "matmul", frame, "return (A.to(torch.bfloat16).to(A.dtype) @ B)")
    assert found is not None and found.kind == "value" and found.dtype == "float32"


@pytest.mark.parametrize(
    "source", ["class ModelNew:\n", "import nothing_of_that_name\n", HEAD + RELU.replace("{}", "return unknown(x)")]
)
def test_what_never_runs_is_told_apart(benches: dict[str, Bench], source: str) -> None:
    with pytest.raises(NotRunnableError):
        benches["level1/relu"].find_witness(source)


def test_the_honest_kernel_itself_has_none(benches: dict[str, Bench]) -> None:
    for bench in benches.values():
        assert bench.find_witness(bench.source) is None


def test_a_witness_travels_as_json() -> None:
    for witness in (Witness("value", "output 0", {"dim": 3}, "normal", "float32", 40.0), Witness("raised", "no", {}, "", "")):
        assert Witness.from_json(witness.to_json()) == witness
