"""``kcbench redteam --mutants``: judge the gates by faults that are planted in honest kernels."""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from kcbench.cli.asked import Asked
from kcbench.cli.exits import BUG, INTERRUPTED, REFUSED
from kcbench.cli.options import Language, draw_seed, require_torch, require_triton, split_names
from kcbench.cli.studies import again, checkers_table, conclude, examine, plain_table, settle
from kcbench.errors import KcbenchError
from kcbench.report.text import one_line, percent

if TYPE_CHECKING:
    from kcbench.mutants.planted import Planted
    from kcbench.mutants.record import Record
    from kcbench.mutants.terms import MutantTerms
    from kcbench.study.opinions import Opinions

COLUMNS = ("made", "do not\nrun", "equivalent", "witnessed", "refused", "survived", "detection\n(95 % interval)")
"""Beside the fault class. All of them fit into 80 columns."""


def study(asked: Asked, count: int, *, fault: str, equivalents: bool, every_gate: bool) -> int:
    """Plant mutants, examine them, and tell what became of them.

    Args:
        asked: How.
        count: How many.
        fault: Fault classes to take, separated by commas; all if there are none.
        equivalents: Ask the gates about mutants without a witness too.
        every_gate: Ask the other gates as well after one has refused a mutant.

    Returns:
        The exit code of the command.

    Raises:
        KcbenchError: Nothing can be done with that.
    """
    require_torch()
    from kcbench.engine import resolve_device
    from kcbench.mutants import fault_classes, shared_out
    from kcbench.mutants.record import Record
    from kcbench.mutants.study import run_study
    from kcbench.mutants.terms import MutantTerms

    faults = split_names(fault, fault_classes(), "--fault")
    seed, device = asked.seed or draw_seed(), resolve_device(asked.device)
    terms = MutantTerms(seed=seed, device=device, checkers=asked.checkers, equivalents=equivalents, every_gate=every_gate)
    terms, past = settle(asked, "mutant", terms)
    with Console(stderr=True, quiet=asked.quiet).status("planting faults"):
        found = _planted(asked, faults)
        chosen = list(shared_out(found, count, terms.seed, of=lambda item: item.mutant))
    if any(item.language == Language.triton for item in chosen):
        require_triton()
    records = past.records(chosen, Record.from_json) if past is not None else []

    def start(todo: Sequence[Planted], stop: threading.Event) -> Generator[Record, None, None]:
        return run_study(
            todo,
            seed=terms.seed,
            device=terms.device,
            jobs=asked.jobs,
            equivalents=terms.equivalents,
            every_gate=terms.every_gate,
            checkers=terms.checkers,
            stop=stop,
        )

    examine(chosen, records, start, _brief, noun="mutant", terms=terms, asked=asked)
    tables = _tables(records, f"{len(records):,} of {len(found):,} mutants, seed {terms.seed}")
    finished = conclude(records, chosen, tables, _lines(records, terms), noun="mutant", asked=asked)
    return _exit_code(records) if finished else INTERRUPTED


def _planted(asked: Asked, faults: Collection[str]) -> list[Planted]:
    from kcbench.mutants.planted import plant

    tasks = (asked.task,) if asked.task is not None else ()
    found = list(plant(tasks, only=asked.only, language=asked.language or "", faults=faults))
    if not found:
        raise KcbenchError("no mutant fits", where="--task, --only, --language, --fault", fix="leave one of them away")
    return found


def _brief(record: Record) -> str:
    """What became of a mutant, in a few words."""
    outcome = record.outcome
    more = outcome.codes or outcome.errors
    return f"{outcome.status} ({one_line(', '.join(more), limit=150)})" if more else outcome.status


def _tables(records: Sequence[Record], title: str) -> Iterator[Table]:
    from kcbench.mutants.tally import ALL, tally

    table = plain_table(title, "fault class", *COLUMNS)
    for fault, count in tally(record.outcome for record in records).items():
        detected = count.detection
        numbers = (count.made, count.unrunnable, count.equivalent, detected.n, count.refused, count.survived)
        table.add_row(fault, *map(str, numbers), str(detected), style="bold" if fault == ALL else "")
    yield table
    compared = _compared(records)
    if compared:
        said = [item for items in compared.values() for item in items]
        yield checkers_table(said, title="\nwitnessed mutants by checker", of="witnessed", what="detection")
        yield _by_class(compared)


def _compared(records: Sequence[Record]) -> dict[str, list[tuple[bool, Opinions]]]:
    """By fault class, for each mutant that all were asked about: whether kcbench refuses it, and what the others say."""
    from kcbench.mutants.outcome import REFUSED, SURVIVED

    found: dict[str, list[tuple[bool, Opinions]]] = {}
    for outcome in (record.outcome for record in records):
        if outcome.status in (REFUSED, SURVIVED) and outcome.opinions is not None:
            found.setdefault(outcome.mutant.fault, []).append((outcome.status == REFUSED, outcome.opinions))
    return dict(sorted(found.items()))


def _by_class(compared: dict[str, list[tuple[bool, Opinions]]]) -> Table:
    from kcbench.study.opinions import refusals

    rates = {fault: refusals(said) for fault, said in compared.items()}
    checkers = next(iter(rates.values()))
    heads = ("\n".join(name.rsplit("-", 1)) for name in checkers)
    table = plain_table("\ndetection by fault class and checker", "fault class", "witnessed", *heads)
    for fault, by_checker in rates.items():
        shares = ("-" if rate.share is None else percent(rate.share) for rate in by_checker.values())
        table.add_row(fault, str(len(compared[fault])), *shares)
    return table


def _lines(records: Sequence[Record], terms: MutantTerms) -> Iterator[str]:
    """All that should not be: survivors, refusals without a witness or of an honest kernel, failures of kcbench."""
    from kcbench.mutants.outcome import EQUIVALENT, SURVIVED

    honest = {record.planted.subject.id: record for record in records}
    for name, record in honest.items():
        if record.honest_codes:
            yield f"an honest kernel is refused: {name}: {', '.join(record.honest_codes)}"
        for error in record.honest_errors:
            yield f"a gate failed on an honest kernel: {name}: {one_line(error)}"
    for record in records:
        outcome, mutant = record.outcome, record.planted.mutant
        what = f"{record.id} ({mutant.fault}), line {mutant.line}: {one_line(mutant.description)}"
        for error in outcome.errors:
            yield f"kcbench failed: {what}: {one_line(error)}"
        for checker, error in (outcome.opinions.failures if outcome.opinions else {}).items():
            yield f"{checker} failed: {what}: {one_line(error)}"
        if outcome.status == EQUIVALENT and outcome.codes:
            yield f"refused without a witness: {what}: {', '.join(outcome.codes)}"
        if outcome.status == SURVIVED and outcome.witness is not None:
            witness = outcome.witness
            where = ", ".join([witness.family, witness.dtype, *(f"{name}={size}" for name, size in witness.sizes.items())])
            yield f"survived: {what}"
            yield f"    witness: {witness.kind}: {one_line(witness.detail)} ({where})"
            yield f"    again: {again('--mutants', record, record.planted.task, terms)}"


def _exit_code(records: Sequence[Record]) -> int:
    from kcbench.mutants.outcome import SURVIVED

    if any(record.failed for record in records):
        return BUG
    return REFUSED if any(record.honest_codes or record.outcome.status == SURVIVED for record in records) else 0
