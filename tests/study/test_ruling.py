"""What verdicts come to."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

from kcbench.domain.verdict import ERROR, FAIL, NOT_APPLICABLE, PASS, Finding, Verdict  # noqa: E402
from kcbench.oracle.oracle import TaskOracle  # noqa: E402
from kcbench.study import score_here  # noqa: E402
from kcbench.study.ruling import Ruling  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

WORST = {"worst_ratio": 40.0, "worst_by_dtype": {"float32": 40.0, "float16": 0.5}}
VERDICTS = (
    Verdict("EXC-01", PASS, checks=1),
    Verdict("CMP-01", FAIL, (Finding("value", "it errs"), Finding("zeros", "all zero")), checks=1, metrics=WORST),
    Verdict("ORD-02", ERROR, reason="KeyError: 'x'"),
    Verdict("RES-02", NOT_APPLICABLE, reason="no targets"),
)


def test_codes_errors_and_ratios() -> None:
    found = Ruling.of(VERDICTS)
    assert found.codes == ("CMP-01.value", "CMP-01.zeros")
    assert found.errors == ("ORD-02: KeyError: 'x'",)
    assert found.ratios == {"CMP-01": {"float32": 40.0, "float16": 0.5}}
    assert Ruling.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_the_ratios_of_a_kernel() -> None:
    """Of the gates that measure an error: as large as the error is."""
    task = load_task("level1/relu")
    source = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x) * {}\n"
    oracle = TaskOracle(task, seed="ruling")
    honest, broken = (
        Ruling.of(score_here(source.format(factor), task, oracle, gates=["CMP-01", "PRC-01"])) for factor in ("1", "1.01")
    )
    assert honest.codes == () and set(honest.ratios) == {"CMP-01", "PRC-01"}
    assert {dtype for by_dtype in honest.ratios.values() for dtype in by_dtype} == set(task.contract.dtypes)
    assert all(0 <= ratio < 1 for by_dtype in honest.ratios.values() for ratio in by_dtype.values())
    assert "CMP-01.value" in broken.codes and broken.ratios["CMP-01"]["float32"] > 1
