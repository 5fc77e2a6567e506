"""The catalogue: headers are read strictly, and the shipped files cover what they promise."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kcbench.errors import KcbenchError
from kcbench.redteam import PUBLISHED_DEFECTS, Entry, defects, load_catalog, parse_entry

TASKS = {
    *(
        f"level1/{name}"
        for name in [
            "relu",
            "gelu",
            "softmax",
            "logsumexp",
            "layernorm",
            "rmsnorm",
            "matmul",
            "batched_matmul",
            "conv2d",
            "maxpool2d",
            "sum_axis",
            "cumsum",
            "cross_entropy",
            "attention",
        ]
    ),
    "level2/linear_bias_gelu",
    "level4/gated_delta_rule",
}

GOOD = """# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=nan_to_num
# redteam: expect=EXC-01.absorbed, GUARD.subclass
# redteam: note=turns NaN into zero
class ModelNew: ...
"""


@pytest.fixture(scope="module")
def catalog() -> list[Entry]:
    return load_catalog()


def parse(source: str) -> Entry:
    return parse_entry(source, path=Path("broken/nan_to_num/level1_relu.py"), identifier="broken/nan_to_num/level1_relu")


def test_parse() -> None:
    entry = parse(GOOD)
    assert (entry.task, entry.kind, entry.defect, entry.requires) == ("level1/relu", "broken", "nan_to_num", "")
    assert entry.expect == ("EXC-01.absorbed", "GUARD.subclass")
    submission = entry.submission()
    assert submission.id == entry.id and submission.task == "level1/relu" and submission.language == "torch"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind=broken", "kind=odd", "unknown kind"),
        ("kind=broken", "kind=honest", "has no 'defect'"),
        ("# redteam: task=level1/relu\n", "", "'task' is missing"),
        ("# redteam: note=turns NaN into zero\n", "", "'note' is missing"),
        ("# redteam: defect=nan_to_num\n", "", "'defect' is missing"),
        ("# redteam: expect=EXC-01.absorbed, GUARD.subclass\n", "", "'expect' is missing"),
        ("level1/relu", "relu", "not a task id"),
        ("EXC-01.absorbed", "EXC-01.", "is no failure code"),
        ("EXC-01.absorbed", "EXC.absorbed", "write GATE.code"),
        ("EXC-01.absorbed", "GUARD.subclass", "each once"),
        ("EXC-01.absorbed", "CMP-01.value, CMP-01.integer, CMP-01.zeros, CMP-03.shape", "5 expected codes"),
        ("# redteam: note", "# redteam: requires=tpu\n# redteam: note", "unknown requirement"),
        ("# redteam: note", "# redteam: notes", "unknown header key"),
        ("# redteam: note=", "# redteam: kind=broken\n# redteam: note=", "given twice"),
        ("note=turns NaN into zero", "note=", "is empty"),
        ("note=turns NaN into zero", "note", "cannot read the header line"),
        ("class ModelNew: ...", "class Model: ...", "no class ModelNew"),
        ("class ModelNew: ...", "class ModelNew", "syntax error in line 6"),
    ],
)
def test_wrong_headers_are_refused(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(KcbenchError, match="broken/nan_to_num/level1_relu: ") as error:
        parse(GOOD.replace(old, new))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("honest/level1_relu/x.py", "lies below honest/"),
        ("broken/zeros/level1_relu.py", "lies in zeros/"),
        ("broken/nan_to_num/level1_gelu.py", "does not start with its task"),
        ("elsewhere/nan_to_num/level1_relu.py", "no red-team kernels"),
    ],
)
def test_misplaced_files_are_refused(tmp_path: Path, place: str, message: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    with pytest.raises(KcbenchError, match=message):
        load_catalog(tmp_path)


def test_loading_does_not_import_torch() -> None:
    code = "import sys; from kcbench.redteam import load_catalog; load_catalog(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_published_defects_have_three_tasks_each(catalog: list[Entry]) -> None:
    groups = defects(catalog)
    assert not set(PUBLISHED_DEFECTS) - set(groups)
    thin = {name: len({entry.task for entry in groups[name]}) for name in PUBLISHED_DEFECTS}
    assert {name: count for name, count in thin.items() if count < 3} == {}
    assert sum(len(groups[name]) for name in PUBLISHED_DEFECTS) >= 57


def test_honest_controls_cover_every_task(catalog: list[Entry]) -> None:
    honest = Counter(entry.task for entry in catalog if not entry.broken)
    assert set(honest) == TASKS
    assert sum(honest.values()) >= 45
    assert {entry.task for entry in catalog if entry.technique == "eager"} == TASKS


def test_tasks_and_ids(catalog: list[Entry]) -> None:
    assert {entry.task for entry in catalog} <= TASKS
    assert len({entry.id for entry in catalog}) == len(catalog)
    assert len({entry.source for entry in catalog}) == len(catalog)


def test_expected_codes_are_codes_of_the_gates(catalog: list[Entry]) -> None:
    pytest.importorskip("torch")
    from kcbench.gates import all_gates

    known = {f"{gate.id}.{code}" for gate in all_gates() for code in gate.codes}
    assert {code for entry in catalog for code in entry.expect} <= known


def test_files_are_no_package() -> None:
    import kcbench.redteam

    root = Path(kcbench.redteam.__file__).parent
    assert not list((root / "broken").rglob("__init__.py")) + list((root / "honest").rglob("__init__.py"))
