"""A task card as Markdown and as one self-contained HTML page."""

from __future__ import annotations

from markupsafe import Markup

from kcbench.report.card import TaskCard
from kcbench.report.html import TEMPLATES, environment
from kcbench.report.markdown import fenced, table
from kcbench.report.text import markdown


def card_markdown(card: TaskCard) -> str:
    """The card for a repository, a dataset viewer or an issue."""
    blocks = [f"# {markdown(card.title)}", f"`{card.id}`, {markdown(card.category)}", fenced(card.formula, "text")]
    blocks += [markdown(line) for line in (card.summary, *card.relations)]
    for section in card.sections:
        rows = [list(map(markdown, row)) for row in section.rows]
        blocks += [f"## {markdown(section.title)}", table(list(map(markdown, section.columns)), rows)]
    gates = [[markdown(name), markdown(question), markdown(f"no: {why}" if why else "yes")] for name, question, why in card.gates]
    blocks += ["## Gates", table(["gate", "asks that", "asked"], gates)]
    blocks += ["## A call at gate sizes", fenced(card.example, "python")]
    if card.notes:
        blocks.append("## Why, and what to mind")
        blocks.append("\n".join(f"- **{markdown(name)}**: {markdown(reason)}" for name, reason in card.notes))
    blocks += ["## Code", fenced(card.code.rstrip(), "python")]
    return "\n\n".join(blocks) + "\n"


def card_html(card: TaskCard) -> str:
    """The card for a browser of any size, light or dark; it loads nothing and runs nothing."""
    style = (TEMPLATES / "report.css").read_text("utf-8")
    return environment().get_template("task.html.j2").render(card=card, style=Markup(style))
