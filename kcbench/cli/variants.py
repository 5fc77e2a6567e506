"""``kcbench redteam --variants``: judge the gates by kernels that are proven honest, written in hundreds of ways."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kcbench.cli.asked import Asked
from kcbench.cli.exits import BUG, INTERRUPTED, REFUSED
from kcbench.cli.options import Language, draw_seed, require_torch, require_triton
from kcbench.cli.studies import again, checkers_table, conclude, examine, plain_table, settle
from kcbench.errors import KcbenchError
from kcbench.report.text import one_line

if TYPE_CHECKING:
    from kcbench.ensemble import Variant
    from kcbench.ensemble.record import Record
    from kcbench.study.terms import Terms

COLUMNS = ("torch", "triton", "proven", "clean", "refused", "failed", "worst ratio\nand its gate")
"""Beside the task. All of them fit into 80 columns."""
EVERY = "all"
FAULTS = 3
"""How many reasons are told why a variant is not proven."""


def study(asked: Asked, wanted: str) -> int:
    """Prove variants, score them, and tell what became of them.

    Args:
        asked: How.
        wanted: How many, or ``all``.

    Returns:
        The exit code of the command.

    Raises:
        KcbenchError: Nothing can be done with that.
    """
    count = _count(wanted)
    require_torch()
    from kcbench.engine import resolve_device
    from kcbench.ensemble.choice import fitting, shared_out
    from kcbench.ensemble.record import Record
    from kcbench.ensemble.study import run_study
    from kcbench.study.terms import Terms

    terms = Terms(seed=asked.seed or draw_seed(), device=resolve_device(asked.device), checkers=asked.checkers)
    terms, past = settle(asked, "variant", terms)
    found = fitting(asked.task, only=asked.only, language=asked.language or "")
    if not found:
        raise KcbenchError("no variant fits", where="--task, --only, --language", fix="leave one of them away")
    chosen = list(shared_out(found, count or len(found), terms.seed))
    if any(variant.language == Language.triton for variant in chosen):
        require_triton()
    records = past.records(chosen, Record.from_json) if past is not None else []

    def start(todo: Sequence[Variant], stop: threading.Event) -> Generator[Record, None, None]:
        return run_study(todo, seed=terms.seed, device=terms.device, jobs=asked.jobs, checkers=terms.checkers, stop=stop)

    examine(chosen, records, start, _brief, noun="variant", terms=terms, asked=asked)
    tables = _tables(records, f"{len(records):,} of {len(found):,} variants, seed {terms.seed}")
    finished = conclude(records, chosen, tables, _lines(records, terms), noun="variant", asked=asked)
    return _exit_code(records) if finished else INTERRUPTED


def _count(wanted: str) -> int | None:
    """How many variants; None for all."""
    if wanted == EVERY:
        return None
    if not wanted.isdecimal() or int(wanted) < 1:
        raise KcbenchError(
            f"expected a number or {EVERY}, found {wanted!r}", where="--variants", fix="for example --variants 100"
        )
    return int(wanted)


def _brief(record: Record) -> str:
    """What became of a variant, in a few words."""
    more = record.ruling.errors or record.ruling.codes
    return f"{record.state} ({one_line(', '.join(more), limit=150)})" if more else record.state


def _tables(records: Sequence[Record], title: str) -> Iterator[Table | Text]:
    from kcbench.ensemble.record import ERROR
    from kcbench.ensemble.tally import ALL, tally

    counts = tally(records)
    table = plain_table(title, "task", *COLUMNS)
    for task, count in counts.items():
        numbers = (count.torch, count.triton, count.proven, count.clean, count.refused, count.failed)
        worst = f"{count.worst:.3g} {count.gate}" if count.gate else "-"
        table.add_row(task, *map(str, numbers), worst, style="bold" if task == ALL else "")
    yield table
    rate = counts[ALL].refusals
    yield Text(f"refused of proven: {rate.k:,} of {rate.n:,}, {rate}")
    judged = [record for record in records if record.state != ERROR]
    said = [(record.wronged, record.opinions) for record in judged if record.opinions is not None]
    if said:
        yield checkers_table(said, title="\nproven variants by checker", of="proven", what="refused")


def _lines(records: Sequence[Record], terms: Terms) -> Iterator[str]:
    """All that should not be: refusals, variants that are not proven, failures of kcbench."""
    for record in records:
        for error in record.ruling.errors:
            yield f"kcbench failed: {record.id}: {one_line(error)}"
        for checker, error in (record.opinions.failures if record.opinions else {}).items():
            yield f"{checker} failed: {record.id}: {one_line(error)}"
        if not record.proof.proven:
            yield f"not proven: {record.id}: {one_line('; '.join(record.proof.faults[:FAULTS]))}"
        if record.wronged:
            yield f"an honest variant is refused: {record.id}"
            for finding in record.findings:
                yield f"    {one_line(finding)}"
            yield f"    again: {again('--variants', record, record.variant.task, terms)}"


def _exit_code(records: Sequence[Record]) -> int:
    if any(record.failed for record in records):
        return BUG
    return REFUSED if any(record.wronged for record in records) else 0
