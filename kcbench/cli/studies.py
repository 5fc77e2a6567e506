"""What the two studies of ``kcbench redteam`` have in common: going on, progress, interruption, how the checkers compare."""

from __future__ import annotations

import contextlib
import shlex
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from kcbench.cli.asked import Asked
from kcbench.cli.output import STDOUT
from kcbench.cli.progress import StepProgress
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.study.job import Job
    from kcbench.study.log import Log, Past
    from kcbench.study.opinions import Opinions
    from kcbench.study.record import Record
    from kcbench.study.terms import Terms

J = TypeVar("J", bound="Job")
R = TypeVar("R", bound="Record")
T = TypeVar("T", bound="Terms")


def settle(asked: Asked, noun: str, terms: T) -> tuple[T, Past[T] | None]:
    """What the outcomes depend on, and what the file holds that is gone on with.

    Without a seed of its own, a run that goes on takes that of the file.

    Args:
        asked: What was asked for.
        noun: What is studied, for example ``mutant``.
        terms: What the outcomes would depend on without a file.

    Raises:
        KcbenchError: Nothing can be done with the file, or with these terms.
    """
    from kcbench.study.log import Past

    if terms.checkers and terms.device != "cpu":
        raise KcbenchError("the other checkers run on the CPU", where="--checkers", fix="add --device cpu, or leave it away")
    path = None if asked.json == STDOUT else asked.json
    if not asked.resume:
        if path is not None and path.exists() and path.stat().st_size:
            raise KcbenchError("is not empty", where=str(path), fix="add --resume to go on with it, or choose another file")
        return terms, None
    if path is None:
        raise KcbenchError("needs a file to go on with", where="--resume", fix="name it with --json")
    if not path.exists():
        raise KcbenchError("there is no such file to go on with", where=str(path), fix="leave --resume away to begin")
    past = Past(path, noun, type(terms))
    if past.terms is None:
        return terms, past
    if asked.seed is None:
        terms = replace(terms, seed=past.terms.seed)
    for name, value in vars(past.terms).items():
        if getattr(terms, name) != value:
            what = f"was made with {name}={value}, not {getattr(terms, name)}"
            raise KcbenchError(what, where=str(path), fix="give the same options as before, or choose another file")
    return terms, past


def examine(
    chosen: Sequence[J],
    records: list[R],
    start: Callable[[Sequence[J], threading.Event], Generator[R, None, None]],
    brief: Callable[[R], str],
    *,
    noun: str,
    terms: Terms,
    asked: Asked,
) -> None:
    """Add the records of those that have none yet, as far as nobody presses Ctrl-C.

    Args:
        chosen: What is to be examined.
        records: Those that there are, to which others are added.
        start: Begins to examine some of them, until an event is set.
        brief: What a record says, in a few words.
        noun: What is studied.
        terms: What is written with each record.
        asked: What was asked for.
    """
    from kcbench.cli.scoring import graceful

    done = {record.id for record in records}
    todo = [job for job in chosen if job.id not in done]
    stop = threading.Event()
    with _log(asked.json, terms) as log, StepProgress(len(todo), noun, quiet=asked.quiet) as progress:
        if done:
            progress.note(f"{len(done)} of {len(chosen)} {noun}s are examined already")
        running = start(todo, stop)
        # Closed in any case, so that no process is left behind.
        with graceful(stop, progress.note), contextlib.closing(running), contextlib.suppress(KeyboardInterrupt):
            for record in running:
                records.append(record)
                if log is not None:
                    log.append(record)
                of, _, name = record.id.rpartition("/")
                progress.step(of, f"{name}: {brief(record)}", record.seconds)


@contextlib.contextmanager
def _log(path: Path | None, terms: Terms) -> Iterator[Log | None]:
    from kcbench.study.log import Log

    if path is None:
        yield None
        return
    with Log(None if path == STDOUT else path, terms) as log:
        yield log


def conclude(
    records: Sequence[Record],
    chosen: Sequence[Job],
    parts: Iterable[RenderableType],
    lines: Iterable[str],
    *,
    noun: str,
    asked: Asked,
) -> bool:
    """Print what was found; and if not all was examined, how to go on.

    Args:
        records: What was found.
        chosen: What was to be examined.
        parts: Tables and the like. They are not made where nothing is printed.
        lines: What follows them.
        noun: What is studied.
        asked: What was asked for.

    Returns:
        Whether all was examined.
    """
    if records and not asked.quiet:
        console = Console(stderr=asked.json == STDOUT)
        for part in parts:
            console.print(part)
        for line in lines:
            console.print(Text(line), soft_wrap=True)
    if len(records) == len(chosen):
        return True
    told = f"interrupted: {len(records)} of {len(chosen)} {noun}s were examined"
    if asked.json is not None and asked.json != STDOUT:
        from kcbench.cli.header import command_line

        command = [*command_line(), *(() if asked.resume else ("--resume",))]
        told += f", and are kept; go on with: {shlex.join(command)}"
    print(told, file=sys.stderr)
    return False


def again(option: str, record: Record, task: str, terms: Terms) -> str:
    """The command that examines one job again.

    Args:
        option: The kind of study, for example ``--mutants``.
        record: What was found of the job.
        task: Its task's id.
        terms: What the outcome depended on.
    """
    command = ["kcbench", "redteam", option, "1", "--seed", terms.seed, "--device", terms.device]
    return shlex.join([*command, "--task", task, "--only", record.id])


def checkers_table(said: Sequence[tuple[bool, Opinions]], *, title: str, of: str, what: str) -> Table:
    """How kcbench and the other published checkers compare.

    Args:
        said: For each kernel, whether kcbench refuses it, and what the others say.
        title: The table's.
        of: What they were asked about, for example ``witnessed``.
        what: What the share is called that they refuse.
    """
    from kcbench.study.opinions import refusals

    table = plain_table(title, "checker", of, "refused", f"{what}\n(95 % interval)")
    for name, rate in refusals(said).items():
        table.add_row(name, str(rate.n), str(rate.k), str(rate))
    return table


def plain_table(title: str, first: str, *columns: str) -> Table:
    """An empty table.

    Args:
        title: What stands above it.
        first: Head of the column of names.
        columns: Heads of the columns of numbers.
    """
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, vertical="bottom")
    for column in columns:
        table.add_column(column, justify="right", vertical="bottom")
    return table
