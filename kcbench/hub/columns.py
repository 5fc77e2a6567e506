"""Columns: the Parquet tables of a dataset, as the JSON Schema files of their rows describe them.

``task_row``, ``reference_row``, ``result_row`` and ``submission_row`` in ``schemas/`` are the one place that says which columns
there are, in which order, of which type, and what they mean: the tables, the dataset card and the Croissant metadata follow from
them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcbench.domain.schema import read_json
from kcbench.errors import MissingExtraError
from kcbench.paths import data_root

if TYPE_CHECKING:
    import pyarrow

TASKS, REFERENCES, RESULTS, SUBMISSIONS = "task_row", "reference_row", "result_row", "submission_row"


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    kind: str
    """``string``, ``integer``, ``number``, ``boolean`` or ``strings`` (a list of them)."""
    nullable: bool
    description: str
    """What it holds, in one sentence."""

    @property
    def words(self) -> str:
        """The type for a person: ``string``, ``list of strings``, ``integer or null``."""
        kind = "list of strings" if self.kind == "strings" else self.kind
        return f"{kind} or null" if self.nullable else kind


@functools.cache
def columns(table: str) -> tuple[Column, ...]:
    """The columns of a table, in their order.

    Args:
        table: :data:`TASKS`, :data:`REFERENCES`, :data:`RESULTS` or :data:`SUBMISSIONS`.
    """
    schema = read_json(data_root() / "schemas" / f"{table}.schema.json")
    return tuple(_column(name, spec) for name, spec in schema["properties"].items())


def _column(name: str, spec: dict[str, Any]) -> Column:
    kinds = spec["type"] if isinstance(spec["type"], list) else [spec["type"]]
    (kind,) = (item for item in kinds if item != "null")
    return Column(name, "strings" if kind == "array" else kind, "null" in kinds, spec["description"])


def arrow_schema(table: str) -> pyarrow.Schema:
    """The columns of a table as an Arrow schema.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    pa = require_pyarrow()
    kinds = {
        "string": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "strings": pa.list_(pa.string()),
    }
    return pa.schema([pa.field(column.name, kinds[column.kind], nullable=True) for column in columns(table)])


def require_pyarrow() -> Any:
    """The module ``pyarrow``.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("pyarrow", "hub") from error
    return pyarrow
