"""Aggregating one results file: twelve rows about a submission become one, and its verdicts one short text, its pattern.

What a column holds is not trusted: it is cast to what it should be, cut, and null where that fails. A file without the columns
that nothing can be counted without is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kcbench.domain import verdict as v
from kcbench.errors import KcbenchError
from kcbench.hub.columns import RESULTS, SUBMISSIONS
from kcbench.leaderboard.cache import Cache, Tables
from kcbench.leaderboard.files import ResultsFile
from kcbench.report.text import one_line

FORMAT = "1"
"""Changes when the tables of this module do."""
RUN_FACTS = ("created", "kcbench", "dataset", "dataset_version", "device", "device_name", "sandbox", "seed", "bounds")
"""Columns that say how a run was made."""
_TEXTS = ("task", "author", "language", "suite", "legacy_size", "status", *RUN_FACTS)
_LONGEST = 200
"""Longest text that is kept, in characters."""
_NEEDED = {
    RESULTS: ("run", "submission", "task", "status", "gate", "gate_status"),
    SUBMISSIONS: ("run", "submission", "verdicts"),
}


@dataclass(frozen=True)
class Aggregates:
    """What the files of a folder come to.

    Attributes:
        results: By file: ``run``, ``submission``, the columns of ``_TEXTS``, ``interpreted``, ``first_sample``, ``pattern``.
        details: By file: ``run``, ``submission``, ``row`` (its place in the file), ``speedup``, ``mean_ratio``, ``flagged``.
        faults: Files that could not be used, one line each.
    """

    results: dict[ResultsFile, pl.DataFrame]
    details: dict[ResultsFile, pl.DataFrame]
    faults: list[str]


def keys_of(files: Iterable[ResultsFile]) -> tuple[dict[ResultsFile, str], list[str]]:
    """What names the content of every file, and which files cannot be read, one line each."""
    keys: dict[ResultsFile, str] = {}
    faults = []
    for file in files:
        try:
            keys[file] = f"{FORMAT}-{file.key()}"
        except OSError as error:
            faults.append(f"{one_line(file.name, limit=200)}: cannot be read: {error.strerror}")
    return keys, faults


def load(keys: Mapping[ResultsFile, str], cache: Cache) -> Aggregates:
    """Aggregate every file, or find what was made of it in the cache."""
    found = Aggregates({}, {}, [])
    for file, key in keys.items():
        try:
            tables = _tables(file, key, cache)
        except KcbenchError as error:
            found.faults.append(f"{one_line(file.name, limit=200)}: {one_line(error.what, limit=300)}")
        except pl.exceptions.PanicException:
            found.faults.append(f"{one_line(file.name, limit=200)}: is damaged")
        # Whatever a stranger's file makes a reader stumble over must not keep the other files from being shown.
        except Exception as error:
            found.faults.append(f"{one_line(file.name, limit=200)}: cannot be read: {one_line(error, limit=200)}")
        else:
            if RESULTS in tables:
                found.results[file] = tables[RESULTS]
            if SUBMISSIONS in tables:
                found.details[file] = tables[SUBMISSIONS]
    return found


def _tables(file: ResultsFile, key: str, cache: Cache) -> Tables:
    if file.is_run:
        return cache.get("runs", key, (RESULTS, SUBMISSIONS), lambda: _of_run(file.path), most=10_000)
    kind = _kind(file.path)
    return cache.get(kind, key, (kind,), lambda: {kind: _AGGREGATE[kind](pl.scan_parquet(file.path))}, most=10_000)


def submission_frame(file: ResultsFile) -> pl.LazyFrame:
    """The submission rows of a file.

    Raises:
        KcbenchError: The run is damaged.
    """
    if not file.is_run:
        return pl.scan_parquet(file.path)
    from kcbench.hub.results import submission_rows
    from kcbench.report.store import RunFolder

    with RunFolder.open(file.path) as folder:
        return pl.LazyFrame(submission_rows(folder.results(), folder.header), infer_schema_length=None)


def _kind(path: Path) -> str:
    """Which table a file holds.

    Raises:
        KcbenchError: Neither.
    """
    names = set(pl.read_parquet_schema(path))
    lacks = {kind: [name for name in needed if name not in names] for kind, needed in _NEEDED.items()}
    for kind, missing in lacks.items():
        if not missing:
            return kind
    kind = min(lacks, key=lambda kind: len(lacks[kind]))
    raise KcbenchError(f"has no column {', '.join(lacks[kind])}")


def _of_run(path: Path) -> dict[str, pl.DataFrame]:
    """Both tables of a run folder."""
    from kcbench.hub.results import result_rows, submission_rows
    from kcbench.report.store import RunFolder

    with RunFolder.open(path) as folder:
        results, header = folder.results(), folder.header
        if not results:
            raise KcbenchError("the run has no results yet")
        rows = {RESULTS: result_rows(results, header), SUBMISSIONS: submission_rows(results, header)}
    return {kind: _AGGREGATE[kind](pl.LazyFrame(found, infer_schema_length=None)) for kind, found in rows.items()}


def _results(rows: pl.LazyFrame) -> pl.DataFrame:
    schema = rows.collect_schema()
    failed = pl.col("gate_status") == v.FAIL
    gate = _raw("gate", schema, 64)
    codes = _codes("codes", schema, "code")
    # Early files say only whether any of the findings is silent.
    silent = pl.when(_boolean("silent", schema)).then(codes).otherwise(pl.lit(""))
    told = [codes, _codes("silent_codes", schema, "") if "silent_codes" in schema else silent, _others(schema)]
    said = pl.when(failed).then(pl.concat_str(pl.lit(v.FAIL), *told, separator=":")).otherwise(_raw("gate_status", schema, 32))
    answer = pl.when(pl.col("gate").is_not_null()).then(pl.concat_str(gate, said, separator=":"))
    marks = {name: _boolean(name, schema) for name in ("legacy_v0", "legacy_v1")}
    kept = [name for name in _TEXTS if name in schema]
    grouped = rows.group_by("run", "submission").agg(
        answer.str.join(";").alias("answers"),
        *(pl.col(name).first() for name in kept),
        *(item.first().alias(name) for name, item in marks.items()),
        _listed("labels", "interpreted", schema).first().alias("interpreted"),
        _whole("sample_id", schema).first().fill_null(0).eq(0).alias("first_sample"),
    )
    # Texts are cleaned after that: a twelfth as many.
    texts = grouped.with_columns(cleaned(name, schema) for name in ("run", "submission", *_TEXTS))
    head = [pl.col("status"), *(pl.col(name).cast(pl.Int8).cast(pl.String).fill_null("") for name in marks)]
    pattern = pl.concat_str(*head, pl.col("answers").fill_null(""), separator="|").alias("pattern")
    table = texts.with_columns(pattern).drop("answers", "status", *marks).collect(engine="streaming")
    return table.with_columns(pl.col("run", "pattern", *(name for name in _TEXTS if name != "status")).cast(pl.Categorical))


def _details(rows: pl.LazyFrame) -> pl.DataFrame:
    schema = rows.collect_schema()
    ratio = _number("eager_mean_ms", schema) / _number("mean_ms", schema)
    flags = pl.col("timing_flags").list.len() > 0 if isinstance(schema.get("timing_flags"), pl.List) else pl.lit(False)
    return (
        rows.with_row_index("row")
        .select(
            cleaned("run", schema).cast(pl.Categorical),
            cleaned("submission", schema),
            "row",
            _positive(_number("speedup", schema)).alias("speedup"),
            _positive(ratio).alias("mean_ratio"),
            flags.fill_null(False).alias("flagged"),
        )
        .collect()
    )


_AGGREGATE = {RESULTS: _results, SUBMISSIONS: _details}


def cleaned(name: str, schema: pl.Schema, longest: int = _LONGEST) -> pl.Expr:
    """A column as text, cut, with control characters replaced; empty where it is missing or null."""
    return _raw(name, schema, longest).str.replace_all(r"\p{C}", "\ufffd")


def _raw(name: str, schema: pl.Schema, longest: int) -> pl.Expr:
    if name not in schema or isinstance(schema[name], (pl.List, pl.Struct, pl.Array, pl.Binary, pl.Object)):
        return pl.lit("").alias(name)
    return pl.col(name).cast(pl.String, strict=False).fill_null("").str.slice(0, longest)


def _boolean(name: str, schema: pl.Schema) -> pl.Expr:
    return pl.col(name) if schema.get(name) == pl.Boolean else pl.lit(None, pl.Boolean)


def _whole(name: str, schema: pl.Schema) -> pl.Expr:
    return pl.col(name) if name in schema and schema[name].is_integer() else pl.lit(None, pl.Int64)


def _number(name: str, schema: pl.Schema) -> pl.Expr:
    return pl.col(name).cast(pl.Float64) if name in schema and schema[name].is_numeric() else pl.lit(None, pl.Float64)


def _positive(value: pl.Expr) -> pl.Expr:
    """A figure that can be multiplied with others; null for NaN, infinities, zero and less."""
    return pl.when(value.is_finite() & (value > 0)).then(value)


def _listed(name: str, value: str, schema: pl.Schema) -> pl.Expr:
    if schema.get(name) != pl.List(pl.String):
        return pl.lit(False)
    return pl.col(name).list.contains(value).fill_null(False)


def _codes(name: str, schema: pl.Schema, instead: str) -> pl.Expr:
    """Codes joined by commas, from a list or, where there is none, from another column."""
    if schema.get(name) == pl.List(pl.String):
        return pl.col(name).list.head(32).list.eval(pl.element().str.slice(0, 64)).list.join(",").fill_null("")
    return _codes(instead, schema, "") if schema.get(instead) == pl.List(pl.String) else cleaned(instead, schema, 64)


def _others(schema: pl.Schema) -> pl.Expr:
    """``1`` where some checks of a failed gate passed."""
    findings = _whole("findings", schema) if "findings" in schema else pl.lit(1)
    return (_whole("checks", schema) > findings).fill_null(False).cast(pl.Int8).cast(pl.String)
