"""``kcbench hub push``, ``push-results`` and ``pull``: what is sent to the Hub, and what is fetched from it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcbench.cli.exits import INTERRUPTED
from kcbench.cli.options import QuietOption, RunArgument

if TYPE_CHECKING:
    from kcbench.hub.push import Progress, Published

RepoOption = Annotated[str, typer.Option(metavar="ORG/NAME", help="Dataset repository on the Hub.", show_default=False)]


def push(
    repo: RepoOption,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A built dataset; built now if not given.", show_default=False),
    ] = None,
    tag: Annotated[str, typer.Option(metavar="V", help="Version to publish it as, v1.0 for example.", show_default=False)] = "",
    private: Annotated[bool, typer.Option("--private", help="Make the repository private if it is new.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Publish the tasks as a dataset: one commit, and a tag.

    An interrupted push goes on when it is made again. A published version does not change: the same tag with another content is
    refused.
    """
    from kcbench.hub.push import push_dataset

    def send(built: Path) -> None:
        with _resumable():
            made = push_dataset(built, repo, tag=tag, private=private, progress=_progress(quiet), bars=show_bars(quiet))
        _tell(made, quiet)

    if folder is not None:
        send(folder)
        return
    from kcbench.hub.address import Address, check_tag
    from kcbench.hub.build import build

    name = Address.parse(repo).repo  # Building takes a while: what can be refused now is.
    if tag:
        check_tag(tag)
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / "dataset"
        build(built, version=tag or None, repo=name)
        send(built)


def push_results(
    run: RunArgument,
    repo: RepoOption,
    pr: Annotated[bool, typer.Option("--pr", help="Open a pull request instead of adding the files.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Publish the rows of a run as two Parquet files of a results dataset. A second time adds nothing."""
    from kcbench.hub.push import push_results as push_rows

    with _resumable():
        made = push_rows(run, repo, pull_request=pr, progress=_progress(quiet), bars=show_bars(quiet))
    _tell(made, quiet)


def pull(
    dataset: Annotated[str, typer.Argument(metavar="ORG/NAME[@TAG]", help="Dataset on the Hub.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write.", show_default=False)],
    quiet: QuietOption = False,
) -> None:
    """Download a dataset: every file checked, all of them or none."""
    from kcbench.hub.address import Address
    from kcbench.hub.pull import pull as fetch

    address = Address.parse(dataset)
    with _resumable():
        made = fetch(address, out, bars=show_bars(quiet))
    if not quiet:
        print(f"{made.folder}: {address}, commit {made.commit}{'' if made.fresh else '; it was there already'}")


@contextmanager
def _resumable() -> Iterator[None]:
    """Say on Ctrl-C that nothing has to be done twice."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def show_bars(quiet: bool) -> bool:
    """Whether somebody looks at progress bars."""
    return not quiet and sys.stderr.isatty()


def _tell(made: Published, quiet: bool) -> None:
    if quiet:
        return
    what = f"{len(made.changed)} file{'s' if len(made.changed) != 1 else ''} changed" if made.changed else "nothing to add"
    print(f"{made.address}: {what}; {made.url}")


def _progress(quiet: bool) -> Progress:
    def tell(name: str, done: int, total: int) -> None:
        if not quiet:
            print(f"[{done:>{len(str(total))}}/{total}] {name}", file=sys.stderr)

    return tell
