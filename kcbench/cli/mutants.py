"""``kcbench redteam --mutants``: judge the gates by faults that are planted in honest kernels."""

from __future__ import annotations

import contextlib
import shlex
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcbench.cli.exits import BUG, INTERRUPTED, REFUSED
from kcbench.cli.options import Language, draw_seed, require_torch, require_triton, split_names
from kcbench.cli.output import STDOUT
from kcbench.cli.progress import StepProgress
from kcbench.errors import KcbenchError
from kcbench.report.text import one_line, percent

if TYPE_CHECKING:
    from kcbench.mutants.log import Log, Past, Terms
    from kcbench.mutants.planted import Planted
    from kcbench.mutants.record import Record
    from kcbench.mutants.tally import Tally

COLUMNS = ("made", "do not\nrun", "equivalent", "witnessed", "refused", "survived", "detection\n(95 % interval)")
"""Beside the fault class. All of them fit into 80 columns."""


@dataclass(frozen=True)
class Asked:
    """What is to be studied, and how; the fields are the command's options."""

    mutants: int
    seed: str | None
    device: str
    jobs: int
    task: str | None
    only: str
    fault: str
    language: Language | None
    equivalents: bool
    json: Path | None
    resume: bool
    quiet: bool


def study(asked: Asked) -> int:
    """Plant mutants, examine them, and tell what became of them.

    Args:
        asked: What was asked for.

    Returns:
        The exit code of the command.

    Raises:
        KcbenchError: Nothing can be done with that.
    """
    require_torch()
    from kcbench.mutants import fault_classes, shared_out

    faults = split_names(asked.fault, fault_classes(), "--fault")
    terms, past = _terms(asked)
    with Console(stderr=True, quiet=asked.quiet).status("planting faults"):
        found = _planted(asked, faults)
        chosen = list(shared_out(found, asked.mutants, terms.seed, of=lambda item: item.mutant))
    if any(item.subject.language == Language.triton for item in chosen):
        require_triton()
    records = past.records(chosen) if past is not None else []
    _examine(chosen, records, terms, asked)
    if records and not asked.quiet:
        console = Console(stderr=asked.json == STDOUT)
        console.print(_table(records, f"{len(records):,} of {len(found):,} mutants, seed {terms.seed}"))
        for line in _lines(records, terms):
            console.print(Text(line), soft_wrap=True)
    if len(records) < len(chosen):
        _tell_interrupted(f"{len(records)} of {len(chosen)} mutants were examined", asked)
        return INTERRUPTED
    return _exit_code(records)


def _terms(asked: Asked) -> tuple[Terms, Past | None]:
    """What the outcomes depend on, and what the file holds that is gone on with.

    Without a seed of its own, a run that goes on takes that of the file.
    """
    from kcbench.engine import resolve_device
    from kcbench.mutants.log import Past, Terms

    path = None if asked.json == STDOUT else asked.json
    terms = Terms(asked.seed or draw_seed(), resolve_device(asked.device), asked.equivalents)
    if not asked.resume:
        if path is not None and path.exists() and path.stat().st_size:
            raise KcbenchError("is not empty", where=str(path), fix="add --resume to go on with it, or choose another file")
        return terms, None
    if path is None:
        raise KcbenchError("needs a file to go on with", where="--resume", fix="name it with --json")
    if not path.exists():
        raise KcbenchError("there is no such file to go on with", where=str(path), fix="leave --resume away to begin")
    past = Past(path)
    if past.terms is None:
        return terms, past
    if asked.seed is None:
        terms = replace(terms, seed=past.terms.seed)
    for name, value in vars(past.terms).items():
        if getattr(terms, name) != value:
            what = f"was made with {name}={value}, not {getattr(terms, name)}"
            raise KcbenchError(what, where=str(path), fix="give the same options as before, or choose another file")
    return terms, past


def _planted(asked: Asked, faults: Collection[str]) -> list[Planted]:
    from kcbench.mutants.planted import plant

    tasks = (asked.task,) if asked.task is not None else ()
    found = list(plant(tasks, only=asked.only, language=asked.language or "", faults=faults))
    if not found:
        raise KcbenchError("no mutant fits", where="--task, --only, --language, --fault", fix="leave one of them away")
    return found


def _examine(chosen: Sequence[Planted], records: list[Record], terms: Terms, asked: Asked) -> None:
    """Add the records of those that have none yet, as far as nobody presses Ctrl-C."""
    from kcbench.cli.scoring import graceful
    from kcbench.mutants.study import run_study

    done = {record.planted.id for record in records}
    todo = [item for item in chosen if item.id not in done]
    stop = threading.Event()
    with _log(asked.json, terms) as log, StepProgress(len(todo), "mutant", quiet=asked.quiet) as progress:
        if done:
            progress.note(f"{len(done)} of {len(chosen)} mutants are examined already")
        running = run_study(todo, seed=terms.seed, device=terms.device, jobs=asked.jobs, equivalents=terms.equivalents, stop=stop)
        # Closed in any case, so that no process is left behind.
        with graceful(stop, progress.note), contextlib.closing(running), contextlib.suppress(KeyboardInterrupt):
            for record in running:
                records.append(record)
                if log is not None:
                    log.append(record)
                line = f"{record.planted.mutant.id}: {_brief(record)}"
                progress.step(record.planted.subject.id, line, record.seconds)


@contextlib.contextmanager
def _log(path: Path | None, terms: Terms) -> Iterator[Log | None]:
    from kcbench.mutants.log import Log

    if path is None:
        yield None
        return
    with Log(None if path == STDOUT else path, terms) as log:
        yield log


def _brief(record: Record) -> str:
    """What became of a mutant, in a few words."""
    outcome = record.outcome
    more = outcome.codes or outcome.errors
    return f"{outcome.status} ({one_line(', '.join(more), limit=150)})" if more else outcome.status


def _table(records: Sequence[Record], title: str) -> Table:
    from kcbench.mutants.tally import ALL, tally

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("fault class", vertical="bottom")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for fault, count in tally(record.outcome for record in records).items():
        numbers = (count.made, count.unrunnable, count.equivalent, count.witnessed, count.refused, count.survived)
        table.add_row(fault, *map(str, numbers), _detection(count), style="bold" if fault == ALL else "")
    return table


def _detection(count: Tally) -> str:
    """The share that is refused, with its interval: ``97.3 % (93.1-99.3)``."""
    if count.detection is None:
        return "-"
    low, high = (percent(end).removesuffix("\u00a0%") for end in count.interval)
    return f"{percent(count.detection)} ({low}-{high})"


def _lines(records: Sequence[Record], terms: Terms) -> Iterator[str]:
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
        what = f"{record.planted.id} ({mutant.fault}), line {mutant.line}: {one_line(mutant.description)}"
        for error in outcome.errors:
            yield f"kcbench failed: {what}: {one_line(error)}"
        if outcome.status == EQUIVALENT and outcome.codes:
            yield f"refused without a witness: {what}: {', '.join(outcome.codes)}"
        if outcome.status == SURVIVED and outcome.witness is not None:
            witness = outcome.witness
            where = ", ".join([witness.family, witness.dtype, *(f"{name}={size}" for name, size in witness.sizes.items())])
            yield f"survived: {what}"
            yield f"    witness: {witness.kind}: {one_line(witness.detail)} ({where})"
            yield f"    again: {shlex.join(_again(record, terms))}"


def _again(record: Record, terms: Terms) -> list[str]:
    """The command that examines one mutant again."""
    task = record.planted.subject.task.id
    command = ["kcbench", "redteam", "--mutants", "1", "--seed", terms.seed, "--device", terms.device]
    return [*command, "--task", task, "--only", record.planted.id]


def _tell_interrupted(what: str, asked: Asked) -> None:
    line = f"interrupted: {what}"
    if asked.json is not None and asked.json != STDOUT:
        from kcbench.cli.header import command_line

        again = [*command_line(), *(() if asked.resume else ("--resume",))]
        line += f", and are kept; go on with: {shlex.join(again)}"
    print(line, file=sys.stderr)


def _exit_code(records: Sequence[Record]) -> int:
    from kcbench.mutants.outcome import SURVIVED

    if any(record.failed for record in records):
        return BUG
    return REFUSED if any(record.honest_codes or record.outcome.status == SURVIVED for record in records) else 0
