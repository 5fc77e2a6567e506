"""Progress of a run on stderr: a live bar on a terminal, one plain line per submission elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from kcbench.report.text import one_line

if TYPE_CHECKING:
    from kcbench.domain.result import Result
    from kcbench.engine import Event


class _Shown:
    """What is shown by a bar, while it is used with ``with``."""

    _bar: Progress | None
    _console: Console
    _quiet: bool

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
        sys.stderr.flush()

    def note(self, line: str) -> None:
        """Print a line between the others."""
        if not self._quiet:
            self._console.print(Text(line), soft_wrap=self._bar is None)


class RunProgress(_Shown):
    """Shows the events of :func:`kcbench.engine.run`. Use it with ``with``.

    Args:
        total: Submissions to score.
        quiet: Show nothing.
    """

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self.total = total
        self.finished = 0
        self._quiet = quiet
        self._running: list[str] = []
        self._console = Console(stderr=True)
        self._bar = _bar(self._console) if self._console.is_terminal and not quiet else None
        if self._bar is not None:
            self._task = self._bar.add_task("", total=total)

    def __call__(self, event: Event) -> None:
        name = event.submission.id
        if event.result is None:
            self._running.append(name)
        else:
            self.finished += 1
            if name in self._running:
                self._running.remove(name)
            self._tell(name, event.result)
        if self._bar is not None:
            self._bar.update(self._task, completed=self.finished, description=_plain(", ".join(self._running)))

    def _tell(self, name: str, result: Result) -> None:
        seconds = result.timings.get("total")
        clock = f" {seconds:.1f} s" if seconds is not None and self._bar is None else ""
        place = f"[{self.finished:>{len(str(self.total))}}/{self.total}] " if self._bar is None else ""
        self.note(f"{place}{one_line(name)}: {brief(result)}{clock}")


def brief(result: Result) -> str:
    """A result in a few words, for example ``refused (EXC-01.absorbed, CMP-03.shape)``."""
    if result.status in ("error", "skipped"):
        return f"no verdict: {one_line(result.reason, limit=100)}"
    if result.status == "unloadable":
        return f"refused: {one_line(result.reason, limit=100)}"
    if result.refused:
        codes = list(result.codes)
        more = f" and {len(codes) - 4} more" if len(codes) > 4 else ""
        return f"refused ({', '.join(codes[:4])}{more})"
    return (
        "clean" if result.clean else "no verdict in " + ", ".join(item.gate for item in result.verdicts if item.status == "ERROR")
    )


class StepProgress(_Shown):
    """Shows work that is done in steps, one for each item. Use it with ``with``.

    Args:
        total: Steps.
        what: What a step makes, for example ``contract``.
        quiet: Show nothing.
    """

    def __init__(self, total: int, what: str, *, quiet: bool = False) -> None:
        self._total, self._what, self._quiet = total, what, quiet
        self._done = 0
        self._console = Console(stderr=True)
        self._bar = _bar(self._console) if total and self._console.is_terminal and not quiet else None
        self._task = self._bar.add_task(what, total=total) if self._bar is not None else None

    def step(self, name: str, line: str, seconds: float | None = None) -> None:
        """One step is done.

        Args:
            name: The item.
            line: How it ended.
            seconds: How long it took.
        """
        self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, description=f"{self._what}s, last {_plain(name)}")
        elif not self._quiet:
            place = f"[{self._done:>{len(str(self._total))}}/{self._total}]"
            clock = "" if seconds is None else f" {seconds:.1f} s"
            text = f"{place} {self._what} of {one_line(name)}: {one_line(line, limit=200)}{clock}"
            self._console.print(Text(text), soft_wrap=True)


def _bar(console: Console) -> Progress:
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=console, transient=True)


def _plain(text: str) -> str:
    """Untrusted text as a description in which rich sees no markup."""
    return one_line(text, limit=60).replace("[", r"\[")
