"""Croissant: ``croissant.json``, the dataset in MLCommons' metadata format, version 1.0 (http://mlcommons.org/croissant/1.0)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcbench.hub.card import PRETTY_NAME, TAGS
from kcbench.hub.columns import REFERENCES, TASKS, Column, columns
from kcbench.hub.figures import Figures
from kcbench.hub.manifest import data_file
from kcbench.report.text import count

NAME = "croissant.json"
LICENSE_URL = "https://www.apache.org/licenses/LICENSE-2.0"
CONTEXT = Path(__file__).parent / "templates" / "croissant_context.json"
"""The JSON-LD context that the format prescribes."""

_TYPES = {"string": "sc:Text", "strings": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}


def croissant(
    figures: Figures, configs: Sequence[str], files: Mapping[str, str], *, version: str, repo: str, published: str
) -> dict[str, Any]:
    """The metadata as JSON-LD.

    Args:
        figures: The tasks in numbers.
        configs: All configurations, ``references`` included.
        files: SHA-256 of each Parquet file, by its path.
        version: Version of the dataset.
        repo: ``ORG/NAME``, from which its address follows; empty where it is not known, and then there is no address.
        published: Date of publication, ISO 8601; empty where it is not known.
    """
    data: dict[str, Any] = {
        "@context": json.loads(CONTEXT.read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "name": PRETTY_NAME,
        "description": (
            f"{count(figures.tasks, 'task')} for machine-written GPU kernels, each with a contract that says what a "
            "kernel owes and with an independent float64 reference."
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "citeAs": f"kcbench contributors: {PRETTY_NAME}, version {version}. See CITATION.cff.",
        "creator": {"@type": "sc:Organization", "name": "kcbench contributors"},
        "keywords": list(TAGS),
        "license": LICENSE_URL,
        "version": version,
        "isLiveDataset": False,
    }
    if published:
        data["datePublished"] = published
    if repo:
        data["url"] = f"https://huggingface.co/datasets/{repo}"
    data["distribution"] = [_file(config, files[data_file(config)]) for config in configs]
    data["recordSet"] = [_records(config) for config in configs]
    return data


def _file(config: str, digest: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{config}-parquet",
        "name": f"{config}-parquet",
        "description": f"The rows of {config}.",
        "contentUrl": data_file(config),
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def _records(config: str) -> dict[str, Any]:
    table, what = (REFERENCES, "Float64 references") if config == "references" else (TASKS, f"Tasks of {config}")
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": f"{what}, one a row.",
        "key": {"@id": f"{config}/id"},
        "field": [_field(config, column) for column in columns(table)],
    }


def _field(config: str, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{config}/{column.name}",
        "name": column.name,
        "description": column.description,
        "dataType": _TYPES[column.kind],
        **({"repeated": True} if column.kind == "strings" else {}),
        "source": {"fileObject": {"@id": f"{config}-parquet"}, "extract": {"column": column.name}},
    }
