"""Card: ``README.md`` of a dataset, with the metadata that the Hub reads at its head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kcbench.hub.columns import REFERENCES, TASKS, columns
from kcbench.hub.figures import Figures
from kcbench.hub.manifest import SPLIT, data_file
from kcbench.hub.rows import LICENSE
from kcbench.hub.yaml_text import yaml_text
from kcbench.report.markdown import table
from kcbench.report.text import count, markdown

TEMPLATES = Path(__file__).parent / "templates"
PRETTY_NAME = "kcbench tasks"
TAGS = ("code", "gpu-kernels", "triton", "cuda", "pytorch", "numerical-verification", "benchmark", "mlcroissant")
PLACEHOLDER = "ORG/NAME"
"""What stands for the repository where it is not known yet."""


def card(figures: Figures, configs: Sequence[str], *, version: str, repo: str) -> str:
    """The card as Markdown, with its YAML head.

    Args:
        figures: The tasks in numbers.
        configs: Configurations in the order in which they are named; the first one is the default.
        version: Version of the dataset, which is the tag of its repository.
        repo: ``ORG/NAME`` for the examples; empty where it is not known.

    Raises:
        MissingExtraError: PyYAML is not installed.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["count"] = count
    return environment.get_template("card.md.j2").render(
        head=yaml_text(head(figures, configs)).rstrip("\n"),
        name=PRETTY_NAME,
        figures=figures,
        repo=repo or PLACEHOLDER,
        version=version,
        levels=_levels(figures),
        gates=table(["gate", "", "tasks"], [[name, title, str(tasks)] for name, title, tasks in figures.gates], right=[2]),
        columns=_columns(TASKS),
        reference_columns=_columns(REFERENCES),
    )


def head(figures: Figures, configs: Sequence[str]) -> Mapping[str, Any]:
    """The metadata at the card's head, as the Hub documents it."""
    return {
        "license": LICENSE,
        "language": ["en"],
        "pretty_name": PRETTY_NAME,
        "task_categories": ["text-generation"],
        "tags": list(TAGS),
        "size_categories": [figures.size_category],
        "configs": [
            {
                "config_name": config,
                "data_files": [{"split": SPLIT, "path": data_file(config)}],
                **({"default": True} if number == 0 else {}),
            }
            for number, config in enumerate(configs)
        ],
    }


def _levels(figures: Figures) -> str:
    rows = [
        [
            str(level.number),
            str(level.tasks),
            ", ".join(f"{name} {number}" for name, number in level.categories.items()),
            str(level.kernelbench),
            str(level.repairs),
        ]
        for level in figures.levels
    ]
    return table(["level", "tasks", "categories", "as in KernelBench", "repaired"], rows, right=[0, 1, 3, 4])


def _columns(name: str) -> str:
    rows = [[f"`{column.name}`", column.words, markdown(column.description)] for column in columns(name)]
    return table(["column", "type", "meaning"], rows)
