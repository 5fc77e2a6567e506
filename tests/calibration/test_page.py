"""The page and its picture."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

import pytest

from kcbench.calibration.figures import measure
from kcbench.calibration.fit import fit, try_out
from kcbench.calibration.page import page
from kcbench.calibration.picture import picture
from kcbench.calibration.sections import sections
from kcbench.calibration.spread import Spread
from kcbench.domain.schema import load_json
from kcbench.numerics.constants import PATH, constants
from tests.calibration.rows import broken, honest

FAIR = [honest(f"{task}/a{i}", CMP01={"float32": 0.1 + i / 10}) for task in "ab" for i in range(3)]
FAULTY = [
    broken("a", "CMP-01.value", task="b", CMP01={"float32": 50.0}),
    broken("b", "CMP-01.value", "EXC-01.absorbed", task="a", CMP01={"float32": 8.0}),
    broken("c|d", task="a", fault="shape"),
]
SVG = "{http://www.w3.org/2000/svg}"


def made(faulty: list[object] = FAULTY) -> str:  # type: ignore[assignment]
    values = dataclasses.asdict(constants())
    measured = measure(FAIR, faulty)  # type: ignore[arg-type]
    found = sections(measured, fit(values, FAIR, faulty), try_out(values, FAIR, faulty, {"a"}))  # type: ignore[arg-type]
    return page(found, load_json(PATH, "constants")).replace("\u00a0", " ")


@pytest.mark.usefixtures("few")
def test_page() -> None:
    text = made()
    titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "Constants",
        "Fitted on one half, tried on the other",
        "Honest noise and broken error",
        "False alarms",
        "Detection",
        "Halves",
        "Which gate sees what",
        "What each gate adds",
        "The fewest gates that would do",
    ]
    assert "![" in text and "(images/calibration.svg)" in text
    assert "| kappa | 8 | 0.3 | 8.42 | 3 | 67.4 | 64 | the present value lies inside |" in text
    assert "| CMP-01 | float32 | 6 | 0.3 | 0.3 | 2 | 8 | 8.42 |" in text
    assert "| all | 3 | 2 | 66.7 % \\(9.4-99.2\\) |" in text
    assert "| EXC-01 | 1 | 0 | redundant |" in text
    assert "asked in turn until one refused" not in text


def test_tables_are_tables() -> None:
    for block in made().split("\n\n"):
        if block.startswith("|"):
            lines = block.splitlines()
            assert len({line.replace("\\|", "").count("|") for line in lines}) == 1, block


def test_a_study_that_stopped_at_the_first_gate_says_so() -> None:
    assert made(FAULTY[:1]).count("asked in turn until one refused") == 4  # type: ignore[arg-type]


def test_picture() -> None:
    spreads = [
        Spread("CMP-01", "float32", (0.0, 0.01, 0.5), (3.0, 1e9)),
        Spread("PRC-01", "float16", (0.2,), ()),
    ]
    text = picture(spreads)
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    ids = [item.get("id") for item in root if item.tag in (f"{SVG}title", f"{SVG}desc")]
    assert root.get("aria-labelledby") == " ".join(map(str, ids))
    [said] = [item.text for item in root if item.tag == f"{SVG}desc"]
    assert (
        said
        == "CMP-01 float32: 3 honest kernels, worst 0.5; 2 broken kernels, least 3. PRC-01 float16: 1 honest kernel, worst 0.2."
    )
    assert "prefers-color-scheme: dark" in text
    drawn = [(item.get("class"), re.findall(r"M(\d+) ", item.get("d", ""))) for item in root if item.tag == f"{SVG}path"]
    dots = [(name, int(x)) for name, places in drawn for x in places]
    [line] = [float(item.get("x1", "nan")) for item in root if item.get("class") == "line"]
    assert len(dots) == 6
    assert all((x < line) is (name == "honest dots") for name, x in dots)
    # What lies beyond the axis is drawn at its ends.
    width = float(root.get("width", "nan"))
    assert all(0 < x < width for _, x in dots)
    assert ElementTree.fromstring(picture([])).find(f"{SVG}desc").text == "Nothing was measured."  # type: ignore[union-attr]
