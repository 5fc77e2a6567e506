"""``kcbench leaderboard``: the results of many runs in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from kcbench.cli.options import QuietOption
from kcbench.errors import MissingExtraError


def leaderboard(
    results: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|hf://ORG/NAME[@REV]",
            help="A folder of results files or run folders, or a results dataset; a sample if not given.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 for any that is free.")] = 7860,
    repo: Annotated[
        str,
        typer.Option(
            metavar="ORG/NAME", help="Results dataset that runs are proposed to; the shown one if it is one.", show_default=False
        ),
    ] = "",
    show: Annotated[bool, typer.Option("--open/--no-open", help="Show it in the browser.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Show results in a browser: who writes kernels that hold, and what breaks.

    Pages follow when the results change. Ctrl-C ends it.
    """
    from kcbench.hub.address import Address

    proposed_to = Address.parse(repo).repo if repo else ""
    try:
        from kcbench.leaderboard.app import Leaderboard
        from kcbench.leaderboard.server import serve
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "leaderboard") from error
    from kcbench.leaderboard.store import Store

    board = Leaderboard(Store.open(results), proposed_to)

    def told(url: str) -> None:
        if not quiet:
            print(f"{url} shows {board.store.facts().source}; Ctrl-C ends it", flush=True)

    serve(board, host, port, open_browser=show, told=told)
