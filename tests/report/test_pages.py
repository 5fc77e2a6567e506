"""The terminal table, Markdown, HTML and parquet: complete, and safe against what a submission may say."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.verdict import Finding, Verdict
from kcbench.errors import KcbenchError
from kcbench.report import html, markdown, plots
from kcbench.report.catalog import GATES, MARKS, mark
from kcbench.report.gap import measure
from kcbench.report.store import RunFolder
from kcbench.report.table import print_report
from kcbench.report.text import clean, count, number, one_line, percent, percents, slug, times

Make = Callable[..., Result]
EVIL = "</script></style></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload=alert(1) \x1b[31m\u202e\udc80 {{7*7}} | `x` [a](javascript:alert(1)) &lt; #"


def hostile(make: Make) -> Result:
    """A result in which every free text is an attack."""
    base = make("x", "CMP-01.value")
    finding = Finding(
        "value", EVIL, True, (), {"kind": "value", "probe": EVIL, "index": [EVIL], "got": EVIL, "axes": {EVIL: EVIL}, EVIL: EVIL}
    )
    verdicts = tuple(Verdict("CMP-01", "FAIL", (finding,)) if item.gate == "CMP-01" else item for item in base.verdicts)
    verdicts = (*verdicts[:-1], Verdict("RES-02", "NOT_APPLICABLE", reason=EVIL, notes=(EVIL,)))
    facts = {**dict.fromkeys(base.submission, EVIL), "packs_weights": False}
    return replace(base, submission=facts, verdicts=verdicts, labels=(EVIL,), reason=EVIL, environment={EVIL: EVIL})


class Page(HTMLParser):
    """Elements and attributes as a browser's parser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_the_page_is_one_well_formed_file(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    page = Page(html.render(sample, header, run="runs/one"))
    assert page._open == []
    assert len(page.all("tbody")) == len(sample)
    assert not page.all("link") and not page.all("iframe") and not page.all("img")
    assert not [value for _, attributes in page.elements for name, value in attributes.items() if name == "src"]
    assert all((item.get("href") or "").startswith("#") for item in page.all("a"))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_plot_has_a_text_alternative(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    text = html.render(sample, header)
    page = Page(text)
    assert len(page.all("svg")) == 2 + 3
    ids = {attributes.get("id") for _, attributes in page.elements}
    for plot in page.all("svg"):
        assert plot["role"] == "img"
        assert set((plot["aria-labelledby"] or "").split()) <= ids
    assert "Accepted and clean 2, accepted and refused 5, rejected and clean 1, rejected and refused 2." in text


def test_each_refusal_has_its_explanation_and_command(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    page = Page(html.render(sample, header, run="my runs/one"))
    text = "".join(page.text)
    assert "kcbench repro 'my runs/one' broken/race ORD-02.nondeterministic" in text
    assert "The kernel's repeats differ" in text
    assert text.count("kcbench repro 'my runs/one'") == sum(len(verdict.findings) for item in sample for verdict in item.verdicts)


def test_hostile_text_stays_text_in_html(make: Make, header: dict[str, Any]) -> None:
    calm = Page(html.render([make("x", "CMP-01.value", statuses={"RES-02": "NOT_APPLICABLE"})], header))
    page = Page(html.render([hostile(make)], {**header, "legacy": [EVIL], "device": {"kind": EVIL, "name": EVIL}}, run=EVIL))
    assert page._open == []
    assert [set(item) for item in page.all("script")] == [set()]
    assert len(page.all("style")) == 1 and not page.all("img")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    # The same elements as for a harmless result, but for the figures of the evidence.
    assert {tag for tag, _ in page.elements} == {tag for tag, _ in calm.elements}
    joined = "".join(page.text)
    assert "<script>alert(1)</script>" in joined and "{{7*7}}" in joined
    assert not set(joined) & set("\x1b\u202e\udc80")


def test_the_page_allows_its_own_script_only(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    import base64
    import hashlib

    text = html.render(sample, header)
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text


def test_a_page_without_results_or_legacy_checks(make: Make, header: dict[str, Any]) -> None:
    assert "This run has no results yet." in html.render([], header)
    page = html.render([make("a", v0=None)], {**header, "legacy": []})
    assert "No legacy check was run" in page
    assert Page(page)._open == []


def test_the_page_is_the_same_every_time(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    assert html.render(sample, header) == html.render(tuple(reversed(sample)), header)


def test_plots_of_many_submissions_stay_small(make: Make) -> None:
    results = [make(f"s{number}", *(["CMP-01.value"] if number % 3 else [])) for number in range(500)]
    plot = plots.heat_strip(results)
    assert len(plot) < 500_000
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', plot).group(1))  # type: ignore[union-attr]
    assert width < 1600


# --- Markdown


def test_markdown_has_every_part(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    text = markdown.render(sample, {**header, "legacy": ["kernelbench-v0"]}, run="runs/one").replace("\u00a0", " ")
    for part in (
        "# kcbench report",
        "## Rigor gap against kernelbench-v0",
        "## Gates",
        "## Failure codes",
        "## Submissions",
        "## How to read this",
    ):
        assert f"\n{part}\n" in f"\n{text}"
    assert "| legacy: accepts | 2 | **5** |" in text
    assert "| broken/race | level1/softmax | triton | accepts | accepts | `...F.F.......` | refused | `CMP-03.shape` |" in text
    assert "`kcbench repro runs/one broken/nan EXC-01.sign`" in text
    assert "| PRC-01 | precision regime | 8 | 2 | 0 | 1 | 0 | 20 % (5.7 to 51 %) |" in text


def test_hostile_text_stays_text_in_markdown(make: Make, header: dict[str, Any]) -> None:
    from markdown_it import MarkdownIt

    text = markdown.render([hostile(make)], {**header, "legacy": [EVIL]}, run=EVIL)
    page = Page(MarkdownIt("commonmark").enable("table").render(text))
    assert {tag for tag, _ in page.elements} <= {
        "h1",
        "h2",
        "h3",
        "p",
        "ul",
        "li",
        "strong",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "br",
    }
    assert not set(text) & set("\x1b\u202e\udc80")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows and all(line.endswith(" |") for line in rows)


# --- terminal


def terminal(results: tuple[Result, ...], header: dict[str, Any], width: int) -> str:
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False)
    print_report(console, results, header)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [80, 100, 120, 140, 200])
def test_the_table_fits_the_terminal(sample: tuple[Result, ...], header: dict[str, Any], width: int) -> None:
    text = terminal(sample, header, width)
    assert max(map(len, text.splitlines())) <= width
    for item in sample:
        assert item.id in text
    assert "level1/softmax" in text and "silent failure" in text
    if width < 128:
        assert "GCCCOOOPPEERR" in text and "...F.F......." in text
    else:
        assert " ".join(gate.short for gate in GATES) in text
        assert re.search(r"broken/crash +level1/softmax +triton +ok +no +\. +\. +\. +L +\.", text)


def test_the_table_speaks_of_the_gap(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    text = terminal(sample, header, 140).replace("\u00a0", " ")
    assert "the contract refuses 71.4 % (5 of 7; 95 % interval 35.9 to 91.8 %)" in text
    assert re.search(r"legacy: accepts +2 +5\b", text)


def test_hostile_text_cannot_steer_the_terminal(make: Make, header: dict[str, Any]) -> None:
    text = terminal((hostile(make),), header, 140)
    assert not set(text) & set("\x1b\u202e\udc80\x07")
    assert "No results yet." in terminal((), header, 80)


def test_an_unknown_code_is_refused_everywhere(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    for render in (html.render, markdown.render):
        with pytest.raises(KcbenchError, match="is not a failure code"):
            render(sample, header, without=["CMP-01.valeu"])


# --- parquet


def test_parquet_has_a_row_per_submission_and_gate(tmp_path: Path, sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    pl = pytest.importorskip("polars")
    with RunFolder.create(tmp_path, header) as folder:
        for item in sample:
            folder.append(item)
        path = folder.write_parquet()
    table = pl.read_parquet(path)
    assert table.height == 11 * 13 + 3  # three have no verdicts
    row = table.filter((pl.col("submission") == "broken/nan") & (pl.col("gate") == "EXC-01")).row(0, named=True)
    assert row["code"] == "EXC-01.absorbed" and row["codes"] == ["EXC-01.absorbed", "EXC-01.sign"]
    assert (row["gate_status"], row["silent"], row["refused"], row["legacy_v0"], row["legacy_v1"]) == (
        "FAIL",
        True,
        True,
        True,
        True,
    )
    assert (row["env_torch"], row["seed"], row["kcbench"], row["checks"], row["worst_ratio"]) == ("2.9.0", "7", "0.1.0", 5, None)
    lone = table.filter(pl.col("submission") == "unloadable").row(0, named=True)
    assert (lone["gate"], lone["status"], lone["refused"], lone["legacy_v0"]) == (None, "unloadable", True, False)
    assert table.filter(pl.col("submission") == "unscored")["legacy_v0"].unique().to_list() == [None]


def test_parquet_keeps_its_columns_without_results_and_takes_any_text(make: Make, header: dict[str, Any]) -> None:
    pytest.importorskip("polars")
    from kcbench.report.parquet import frame

    empty, full = frame([], header), frame([hostile(make)], header)
    assert empty.height == 0
    assert [name for name in full.columns if not name.startswith("env_")] == empty.columns
    documented = sys.modules["kcbench.report.parquet"].__doc__ or ""
    assert all(name in documented for name in empty.columns)


def test_odd_legacy_checks_have_columns_too(make: Make, header: dict[str, Any]) -> None:
    pytest.importorskip("polars")
    from kcbench.report.parquet import frame

    result = make("a", legacy=(LegacyScore("robust-kbench", True, False),))
    assert frame([result], header)["legacy_robust_kbench"].unique().to_list() == [False]


# --- small things


def test_marks_are_told_apart_without_colour(make: Make) -> None:
    assert len({item.symbol for item in MARKS}) == len({item.style for item in MARKS}) == len(MARKS)
    assert mark(make("a", "CMP-03.crash", loud=("CMP-03.crash",)).verdict("CMP-03")).symbol == "L"
    assert mark(make("a", "CMP-03.crash", "CMP-03.shape", loud=("CMP-03.crash",)).verdict("CMP-03")).symbol == "F"
    assert mark(None).symbol == "x"


def test_texts_and_numbers() -> None:
    assert clean("a\x1b[0m\u202e\udc80\tb\nc") == "a\\x1b[0m\\u202e\\udc80\tb\nc"
    assert one_line(" a\n b  c ", limit=4) == "a b…"
    assert [number(item) for item in (1, 2.5, "nan", "-inf", float("inf"), None, True, 1e-9)] == [
        "1",
        "2.5",
        "NaN",
        "-Inf",
        "+Inf",
        "None",
        "True",
        "1e-09",
    ]
    assert [percent(item).replace("\u00a0", " ") for item in (0, 0.0001, 0.125, 0.9999, 1)] == [
        "0 %",
        "<0.1 %",
        "12.5 %",
        ">99.9 %",
        "100 %",
    ]
    assert percents(0.1, 1).replace("\u00a0", " ") == "10 to 100 %"
    assert [times(item) for item in (1.234, 16666.7, 3e9, "inf", None)] == [
        "1.23 times the tolerance",
        "16,700 times the tolerance",
        "more than a billion times the tolerance",
        "",
        "",
    ]
    assert (count(1, "file"), count(2000, "file")) == ("1 file", "2,000 files")
    assert slug("../a b/ü") == "a-b"


def test_the_package_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from kcbench.report import explain, gap, html, markdown, parquet, repro, store, table\n"
        "repro.kinds()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(html.__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_set_aside_codes_are_named(sample: tuple[Result, ...], header: dict[str, Any]) -> None:
    assert "Set aside: PRC-01.tf32." in html.render(sample, header, without=["PRC-01.tf32"])
    assert measure(sample, "kernelbench-v0", without=["PRC-01.tf32"]).rate.k == 4
