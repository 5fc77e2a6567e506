"""Page: ``docs/calibration.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcbench.calibration.sections import Section
from kcbench.report.markdown import table
from kcbench.report.text import count, markdown

PICTURE = "images/calibration.svg"
"""Where the page looks for its picture, from its own folder."""

_INTRODUCTION = (
    "What a gate tolerates is derived from the task, the inputs and the declared precision ([numerics](numerics.md)), but for "
    "a few free constants. They are set once, in `kcbench/numerics/constants.json`, between two populations: honest kernels in "
    "many forms, each proven without the gates, and kernels with a planted fault, each with an input that shows it."
)


def page(sections: Sequence[Section], constants: Mapping[str, Any]) -> str:
    """The page as Markdown.

    Args:
        sections: The tables.
        constants: The content of the constants' file (``constants.schema.json``).
    """
    blocks = ["# Calibration", _INTRODUCTION, _provenance(constants["provenance"]), _commands(constants["provenance"])]
    blocks += [f"![Honest noise and broken error by gate and dtype, over the line]({PICTURE})", _purposes(constants)]
    blocks += [block for section in sections for block in (f"## {section.title}", markdown(section.words), _table(section))]
    return "\n\n".join(blocks) + "\n"


def _provenance(provenance: Mapping[str, Any]) -> str:
    honest = count(provenance["variants"]["judged"], "honest kernel")
    broken = count(provenance["mutants"]["judged"], "fault")
    torch = " and ".join(dict.fromkeys([*provenance["variants"]["torch"], *provenance["mutants"]["torch"]]))
    versions = f"kcbench {markdown(provenance['kcbench'])}, torch {markdown(torch)}, {provenance['date']}"
    return f"Below: {honest} and {broken} with a witness, judged on the CPU ({versions})."


def _commands(provenance: Mapping[str, Any]) -> str:
    lines = []
    for what, more in (("variants", "--checkers"), ("mutants", "--checkers --every-gate")):
        draw = provenance[what]
        language = f"--language {draw['language']} " if draw["language"] else ""
        lines.append(
            f"kcbench redteam --{what} {draw['count']} --seed {draw['seed']} --device cpu {language}{more} --json {what}.jsonl"
        )
    lines.append("kcbench calibrate --variants variants.jsonl --mutants mutants.jsonl --write")
    lines.append("kcbench calibrate --check    # does a new study still bear the figures out?")
    return "\n".join(["```sh", *lines, "```"])


def _purposes(constants: Mapping[str, Any]) -> str:
    return "\n".join(f"- `{name}`: {markdown(item['purpose'])}" for name, item in constants["constants"].items())


def _table(section: Section) -> str:
    rows = [[markdown(cell) for cell in row] for row in section.rows]
    return table(list(map(markdown, section.head)), rows, right=range(section.left, len(section.head)))
