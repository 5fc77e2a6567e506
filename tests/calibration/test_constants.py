"""The constants' file, and that the gates judge with what it says."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kcbench.calibration import committed  # noqa: E402
from kcbench.calibration.committed import Committed, Draw, renewed  # noqa: E402
from kcbench.calibration.figures import ALL, measure  # noqa: E402
from kcbench.calibration.fit import BOUNDS, fit  # noqa: E402
from kcbench.domain.schema import load_json, problems  # noqa: E402
from kcbench.errors import KcbenchError  # noqa: E402
from kcbench.gates import cmp01, compare, ord03, value  # noqa: E402
from kcbench.numerics import constants as module  # noqa: E402
from kcbench.numerics.constants import PATH, Constants, constants  # noqa: E402
from kcbench.numerics.stochastic import sigma  # noqa: E402
from kcbench.report.proportion import Proportion  # noqa: E402
from tests.calibration.rows import broken, honest  # noqa: E402

READERS = [
    (sigma, "KAPPA", "kappa"),
    (value, "EAGER_FACTOR", "eager_factor"),
    (cmp01, "COHERENT", "coherent"),
    (ord03, "GRANT", "any_order"),
    (compare, "TRANSFORM_SLACK", "transform_slack"),
]


def test_the_file_is_valid() -> None:
    data = load_json(PATH, "constants")
    assert list(data["constants"]) == [field.name for field in dataclasses.fields(Constants)] == list(BOUNDS)
    assert all(item["purpose"].endswith(".") for item in data["constants"].values())


def test_values() -> None:
    assert constants() == Constants(8.0, 2.0, 2.0, 2.0, 2.0**-19)


@pytest.mark.parametrize(("reader", "name", "constant"), READERS, ids=[name for _, name, _ in READERS])
def test_the_gates_read_it(reader: Any, name: str, constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert getattr(reader, name) == getattr(constants(), constant)
    monkeypatch.setattr(module, "constants", lambda: dataclasses.replace(Constants(1, 1, 1, 1, 1), **{constant: 123.0}))
    spec = importlib.util.spec_from_file_location("again", reader.__file__)
    assert spec is not None and spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "again", again)
    spec.loader.exec_module(again)
    assert getattr(again, name) == 123.0


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        (("constants", "kappa", "value"), 0.0),
        (("constants", "kappa", "value"), "8"),
        (("constants", "kappa", "purpose"), ""),
        (("constants", "kappa", "interval"), {"low": 1.0}),
        (("constants", "other"), {"value": 1.0}),
        (("provenance", "date"), "today"),
        (("provenance", "variants", "seed"), ""),
        (("detection", "all"), {"refused": -1, "witnessed": 2}),
        (("honest_worst", "CMP-01"), {"float32": "0.5"}),
    ],
)
def test_the_schema_refuses(where: tuple[str, ...], wrong: Any) -> None:
    data = copy.deepcopy(load_json(PATH, "constants"))
    inner = data
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = wrong
    assert problems(data, "constants")


@pytest.mark.usefixtures("few")
def test_a_calibration_renews_all_but_the_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fair = [honest("t/a", CMP01={"float32": 0.5}), honest("t/b", PRC01={"float16": 0.25}), honest("t/c", proven=False)]
    faulty = [broken("a", "CMP-01.value", CMP01={"float32": 8.0}), broken("b", fault="shape"), broken("c", status="equivalent")]
    path = tmp_path / "constants.json"
    text = renewed(measure(fair, faulty), fit(dataclasses.asdict(constants()), fair, faulty), fair, faulty)
    path.write_text(text, encoding="utf-8")
    new, old = load_json(path, "constants"), load_json(PATH, "constants")
    assert {name: item["value"] for name, item in new["constants"].items()} == dataclasses.asdict(constants())
    assert new["constants"]["kappa"]["interval"] == {"low": 5.0, "high": 64.0}
    assert new["constants"]["any_order"]["interval"] == {"low": None, "high": None}
    assert new["constants"]["kappa"]["purpose"] == old["constants"]["kappa"]["purpose"]
    assert new["provenance"]["variants"] == {"seed": "7", "count": 3, "language": "torch", "torch": ["2.0"], "judged": 2}
    assert new["provenance"]["mutants"] == {"seed": "7", "count": 3, "language": "torch", "torch": ["2.0"], "judged": 2}
    monkeypatch.setattr(committed, "PATH", path)
    read = Committed.read()
    assert read.variants == read.mutants == Draw("7", 3, "torch")
    assert read.honest_worst == {("CMP-01", "float32"): 0.5, ("PRC-01", "float16"): 0.25}
    assert read.detection == {"precision": Proportion(1, 1), "shape": Proportion(0, 1), ALL: Proportion(1, 2)}
    assert read.alarms == Proportion(0, 2)


def test_a_study_on_a_gpu_is_not_written() -> None:
    fair, faulty = [honest()], [dataclasses.replace(broken(), study=dataclasses.replace(broken().study, device="cuda"))]
    with pytest.raises(KcbenchError, match="not both made on a CPU"):
        renewed(measure(fair, faulty), (), fair, faulty)
