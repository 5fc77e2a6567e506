"""The other checkers, asked in forks."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from kcbench.study import HERE, allowance, checkers, panel  # noqa: E402
from kcbench.study.checkers import Checker, all_checkers  # noqa: E402
from kcbench.study.opinions import Opinions  # noqa: E402
from kcbench.study.panel import Panel  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

TASK = load_task("level1/relu")
KERNEL = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"
V0, V1, FOUR, CLASSIC = ALL = tuple(checker.id for checker in all_checkers())


def kernel(expression: str) -> str:
    return KERNEL.replace("{}", expression)


def asked() -> Panel:
    return Panel(HERE, TASK, kernel("torch.relu(x)"), interpreted=False, seed="panel")


@pytest.fixture(scope="module")
def of_relu() -> Panel:
    return asked()


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("torch.relu(x)", ALL),
        # Only one that negates the problem's inputs, or draws normal ones, meets a negative number.
        ("x.clone()", (V0, V1)),
        ("torch.relu(x) * 2", ()),
        # All five inputs of KernelBench are 64 x 512, as are those of the four distributions.
        ("torch.relu(x) if x.shape[0] == 64 else __import__('os')._exit(1)", (V0, V1, FOUR)),
        ("torch.relu(x) if x.shape[0] == 64 else __import__('os').kill(__import__('os').getpid(), 11)", (V0, V1, FOUR)),
    ],
)
def test_opinions(expression: str, accepted: tuple[str, ...], of_relu: Panel) -> None:
    found = of_relu.opinions(kernel(expression))
    assert found == Opinions(accepted, tuple(name for name in ALL if name not in accepted))


def test_one_that_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "SECONDS", 1.0)
    monkeypatch.setattr(allowance, "SLOWDOWN", 0.0)
    found = asked().opinions(kernel("torch.relu(x) if x.shape[0] == 64 else sum(iter(int, 1))"))
    assert found == Opinions((V0, V1, FOUR), (CLASSIC,))


def test_one_that_takes_too_long_for_the_honest_kernel_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel, "LONGEST", 1.0)
    slow = kernel("torch.relu(x) if x.shape[0] == 64 else sum(iter(int, 1))")
    found = Panel(HERE, TASK, slow, interpreted=False, seed="panel")
    assert found.opinions(kernel("x.clone()")) == Opinions((V0, V1), (FOUR,))


def test_what_a_kernel_changes_stays_in_its_fork(of_relu: Panel) -> None:
    tampering = kernel("torch.relu(x)").replace("import torch\n", "import torch\n\ntorch.allclose = lambda *_, **__: True\n", 1)
    of_relu.opinions(tampering)
    assert of_relu.opinions(kernel("torch.zeros_like(x)")).accepted_by == ()


def test_forks_share_what_is_asked(of_relu: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    def made_again(*_: object, **__: object) -> None:
        raise AssertionError("made again")

    for name in ("trials", "trial_sizes"):
        monkeypatch.setattr(checkers.kernelbench, name, made_again)
    monkeypatch.setattr(checkers, "TaskOracle", made_again)
    assert of_relu.opinions(kernel("torch.relu(x)")) == Opinions(ALL)


def test_a_checker_that_fails_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def passes(session: object, task: object, seed: str) -> bool:
        raise KeyError("oh no")

    found = asked()
    broken = [dataclasses.replace(item, passes=passes) if item.id == V1 else item for item in all_checkers()]
    monkeypatch.setattr(panel, "all_checkers", lambda: tuple[Checker, ...](broken))
    said = found.opinions(kernel("x.clone()"))
    assert (said.accepted_by, said.refused_by, list(said.failures)) == ((V0,), (FOUR, CLASSIC), [V1])
    assert "KeyError: 'oh no'" in said.failures[V1]
