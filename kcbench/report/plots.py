"""Small SVG plots, inline and self-contained: their colours come from the page's style sheet, and with them light and dark.

Every plot carries ``role="img"`` with a title and a description that says in words what the picture shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from kcbench.domain.result import Result
from kcbench.report.catalog import GATES, LOUD, MARKS, PASSED, SILENT, gate_info, mark
from kcbench.report.explain import OUTCOMES, outcome
from kcbench.report.gap import CodeCount, Gap, GateCount, Share
from kcbench.report.text import clean, count, percent, slug


def element(tag: str, *children: Markup | str, **attributes: object) -> Markup:
    """One SVG element; text and attribute values are escaped, ``class_`` stands for ``class`` and ``_`` for ``-``."""
    pairs = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value is not None)
    inside = Markup("").join(Markup(' {}="{}"').format(name, _short(value)) for name, value in pairs)
    body = Markup("").join(child if isinstance(child, Markup) else escape(clean(child)) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), inside, body)


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else clean(value)


def picture(
    name: str, width: float, height: float, title: str, description: str, *parts: Markup, xmlns: str | None = None
) -> Markup:
    """A whole plot of ``width`` x ``height`` user units with its text alternative; ``name`` makes its ids unique on the page.

    A plot that is a file of its own needs the namespace of SVG, ``xmlns``.
    """
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        *parts,
        xmlns=xmlns,
        viewBox=f"0 0 {_short(width)} {_short(height)}",
        width=_short(width),
        height=_short(height),
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_="plot",
    )


def two_by_two(gap: Gap) -> Markup:
    """The 2x2 table with areas shaded by their share; the gap's cell stands out."""
    table, left, top, wide, high = gap.table, 92, 30, 150, 74
    total = max(table.total, 1)
    cells = [
        (0, 0, table.accepted_clean, "agree", "both accept"),
        (1, 0, table.accepted_refused, "gap", "the gap"),
        (0, 1, table.rejected_clean, "other", "contract milder"),
        (1, 1, table.rejected_refused, "agree", "both refuse"),
    ]
    parts = [
        element("text", "contract: clean", x=left + wide / 2, y=18, class_="label middle"),
        element("text", "contract: refused", x=left + 1.5 * wide + 6, y=18, class_="label middle"),
    ]
    for row, name in enumerate(("accepts", "rejects")):
        y = top + row * (high + 6) + high / 2
        parts.append(element("text", "legacy", x=left - 10, y=y - 3, class_="label end"))
        parts.append(element("text", name, x=left - 10, y=y + 13, class_="label end"))
    for column, row, number, kind, meaning in cells:
        x, y = left + column * (wide + 6), top + row * (high + 6)
        parts.append(element("rect", x=x, y=y, width=wide, height=high, rx=6, class_=f"cell {kind}"))
        parts.append(element("text", f"{number:,}", x=x + wide / 2, y=y + 38, class_=f"figure middle {kind}"))
        parts.append(
            element("text", f"{meaning}, {percent(number / total)}", x=x + wide / 2, y=y + 60, class_=f"small middle {kind}")
        )
    description = (
        f"Accepted and clean {table.accepted_clean}, accepted and refused {table.accepted_refused}, "
        f"rejected and clean {table.rejected_clean}, rejected and refused {table.rejected_refused}."
    )
    return picture(
        f"table-{slug(gap.check)}",
        left + 2 * wide + 6 + 2,
        top + 2 * high + 8,
        f"{gap.check} against the contract",
        description,
        *parts,
    )


def gate_bars(gates: Sequence[GateCount]) -> Markup:
    """Share of failures among judged per gate, with its Wilson interval, and the counts in words."""
    left, wide, row, top = 62, 208, 25, 24
    parts = _axis(left, wide, top, top + len(gates) * row)
    said: list[str] = []
    for number, item in enumerate(gates):
        y = top + number * row
        share = item.fail_share
        info = gate_info(item.gate)
        text = f"{item.gate} {info.title}: {item.failed} fail, {item.passed} pass, {item.not_applicable} not applicable"
        text += f", {item.reference_invalid} reference invalid, {item.error} error"
        said.append(text)
        shapes: list[Markup] = [element("title", text), element("rect", x=0, y=y, width=430, height=row, class_="hit")]
        shapes.append(element("text", item.gate, x=left - 8, y=y + 16.5, class_="label end code"))
        if share.value is None:
            shapes.append(element("text", "not judged", x=left + 6, y=y + 16.5, class_="small"))
        else:
            shapes.append(element("rect", x=left, y=y + 6, width=wide * share.value, height=row - 12, rx=2, class_="bar fail"))
            shapes.append(_whisker(left, wide, y + row / 2, share))
        shapes.append(element("text", f"{share.k}/{share.n}", x=left + wide + 12, y=y + 16.5, class_="small"))
        rest = [
            f"{n} {name}"
            for n, name in ((item.not_applicable, "n.a."), (item.reference_invalid, "ref"), (item.error, "err"))
            if n
        ]
        shapes.append(element("text", ", ".join(rest), x=left + wide + 58, y=y + 16.5, class_="small faint"))
        parts.append(element("g", *shapes))
    title = "Share of failures per gate, among the submissions that it could judge"
    return picture("gates", 430, top + len(gates) * row + 4, title, ". ".join(said) + ".", *parts)


def _axis(left: float, wide: float, top: float, bottom: float) -> list[Markup]:
    parts = []
    for share in (0.0, 0.5, 1.0):
        x = left + wide * share
        parts.append(element("line", x1=x, x2=x, y1=top - 4, y2=bottom, class_="rule"))
        parts.append(element("text", f"{share:.0%}", x=x, y=top - 9, class_="small middle faint"))
    return parts


def _whisker(left: float, wide: float, y: float, share: Share) -> Markup:
    a, b = left + wide * share.low, left + wide * share.high
    path = f"M{a:.1f} {y - 4:.1f}v8M{b:.1f} {y - 4:.1f}v8M{a:.1f} {y:.1f}H{b:.1f}"
    return element("path", d=path, class_="whisker")


def code_bars(codes: Sequence[CodeCount], *, most: int = 14) -> Markup:
    """In how many submissions each failure code was found; the dark part passed the legacy check."""
    shown = list(codes[:most])
    left, wide, row, top = 186, 176, 25, 6
    largest = max((item.results for item in shown), default=1)
    parts: list[Markup] = []
    for number, item in enumerate(shown):
        y = top + number * row
        kind = "silent" if item.silent == item.results else "loud" if not item.silent else "mixed"
        text = f"{item.code}: {count(item.results, 'submission')}, {item.accepted} of them accepted by the legacy check, {kind}"
        parts.append(
            element(
                "g",
                element("title", text),
                element("rect", x=0, y=y, width=430, height=row, class_="hit"),
                element("text", item.code, x=left - 8, y=y + 16.5, class_="label end code"),
                element(
                    "rect", x=left, y=y + 5, width=wide * item.results / largest, height=row - 10, rx=2, class_="bar fail pale"
                ),
                element("rect", x=left, y=y + 5, width=wide * item.accepted / largest, height=row - 10, rx=2, class_="bar fail"),
                element("text", f"{item.results}", x=left + wide * item.results / largest + 6, y=y + 16.5, class_="small"),
                element(
                    "text",
                    "loud" if kind == "loud" else "",
                    x=left + wide * item.results / largest + 26,
                    y=y + 16.5,
                    class_="small faint",
                ),
            )
        )
    said = ". ".join(f"{item.code} {item.results}, of these {item.accepted} accepted by the legacy check" for item in shown)
    more = f" {count(len(codes) - most, 'further code')} not shown." if len(codes) > most else ""
    return picture(
        "codes",
        430,
        top + max(len(shown), 1) * row + 4,
        "Submissions per failure code",
        f"{said or 'No findings'}.{more}",
        *parts,
    )


def heat_strip(results: Sequence[Result]) -> Markup:
    """One column per submission, one row per gate: refused ones first, grouped by the first gate that refuses them."""
    ordered = sorted(results, key=_first_refusal)
    wide = min(22.0, max(3.0, 1040 / max(len(ordered), 1)))
    left, row, top = 62, 18, 4
    cells: dict[str, list[str]] = {item.style: [] for item in MARKS}
    letters: list[Markup] = []
    columns: list[Markup] = []
    gap = 1 if wide >= 6 else 0
    for column, result in enumerate(ordered):
        x = left + column * wide
        for number, gate in enumerate(GATES):
            shown = mark(result.verdict(gate.id))
            y = top + number * row
            cells[shown.style].append(f"M{x:.1f} {y}h{wide - gap:.1f}v{row - 1}h-{wide - gap:.1f}z")
            if wide >= 12 and shown is not PASSED:
                letters.append(
                    element("text", shown.symbol, x=x + (wide - gap) / 2, y=y + 12.5, class_=f"letter middle {shown.style}")
                )
        columns.append(
            element(
                "rect",
                element("title", _column_title(result)),
                x=x,
                y=top,
                width=wide,
                height=len(GATES) * row,
                class_="hit",
            )
        )
    paths = [element("path", d="".join(path), class_=f"heat {style}") for style, path in cells.items() if path]
    labels = [
        element("text", gate.id, x=left - 8, y=top + number * row + 13, class_="label end code")
        for number, gate in enumerate(GATES)
    ]
    said = ", ".join(f"{len(cells[item.style])} {item.name}" for item in MARKS if cells[item.style])
    description = (
        f"{count(len(ordered), 'submission')} by {len(GATES)} gates. Cells: {said or 'none'}. The table below has the same data."
    )
    width = left + max(len(ordered), 1) * wide + 2
    return picture(
        "strip",
        width,
        top + len(GATES) * row + 4,
        "Every submission and every gate",
        description,
        *labels,
        *paths,
        *letters,
        *columns,
    )


def _first_refusal(result: Result) -> tuple[int, int, str]:
    group = OUTCOMES.index(outcome(result))
    first = next((number for number, gate in enumerate(GATES) if mark(result.verdict(gate.id)) in (SILENT, LOUD)), len(GATES))
    return group, first, result.id


def _column_title(result: Result) -> str:
    codes = ", ".join(result.codes[:6])
    return f"{result.id}: {codes or result.status}"
