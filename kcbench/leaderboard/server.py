"""Server: the pages at once, and beside them Gradio's interface for programs.

Importing Gradio takes longer than everything else together, and the pages need nothing of it: they are there first, and it is
loaded behind their back. Until then, whoever asks for it waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from kcbench.errors import KcbenchError, MissingExtraError
from kcbench.leaderboard.app import Leaderboard
from kcbench.leaderboard.links import Asked
from kcbench.syntax import nobody_parses

if TYPE_CHECKING:
    import polars as pl
    from fastapi import FastAPI

PORT = 7860
"""Where Gradio, and Spaces, expect an app."""
WARM_UP = 2.0
"""Seconds from the start until Gradio is loaded: the first reader's first page comes before."""
MOST_ROWS = 1000
"""Rows of one answer to a program."""


class Server:
    """Pages and interface as one ASGI application."""

    def __init__(self, board: Leaderboard) -> None:
        self._interface = Interface(board)
        self._pages: ASGIApp = board.asgi
        self._life = Starlette(lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._life(scope, receive, send)
        elif scope["path"].startswith("/gradio_api/") or scope["path"] == "/config":
            await self._interface(scope, receive, send)
        else:
            await self._pages(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(self._interface.warm(WARM_UP))
        try:
            yield
        finally:
            warming.cancel()
            await self._interface.close()


class Interface:
    """Gradio's interface for programs, made when it is first needed."""

    def __init__(self, board: Leaderboard) -> None:
        self._board = board
        self._made: FastAPI | None = None
        self._lock = asyncio.Lock()
        self._life = contextlib.AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._ready())(scope, receive, send)

    async def warm(self, wait: float) -> None:
        """Make it after so many seconds."""
        await asyncio.sleep(wait)
        await self._ready()

    async def close(self) -> None:
        """End what it began."""
        await self._life.aclose()

    async def _ready(self) -> FastAPI:
        async with self._lock:
            if self._made is None:
                made = await asyncio.to_thread(interface, self._board)
                await self._life.enter_async_context(made.router.lifespan_context(made))
                self._made = made
            return self._made


def interface(board: Leaderboard) -> FastAPI:
    """What programs can ask, as Gradio serves it: ``gradio_client.Client(URL).predict(QUERY, api_name="/board")``."""
    # No figures about readers go to anybody, and no newer version is asked for.
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    # Gradio parses the source of its components when it is imported, here beside the threads that make pages.
    with nobody_parses():
        import gradio as gr
    from fastapi import FastAPI

    with gr.Blocks(title="kcbench leaderboard", analytics_enabled=False) as blocks:
        for question in _questions(board):
            gr.api(question, api_name=question.__name__)  # type: ignore[attr-defined]
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    gr.mount_gradio_app(app, blocks, path="", run_history=False, ssr_mode=False, show_error=False)
    return app


def _questions(leaderboard: Leaderboard) -> tuple[Callable[..., Any], ...]:
    store = leaderboard.store

    def board(query: str = "") -> list[dict[str, Any]]:
        """The board. ``query`` is what stands behind the question mark in a view's address: ``levels=1&languages=triton``."""
        leaderboard.look()
        return _rows(store.board(_asked(query).filters))

    def gap(query: str = "") -> dict[str, Any]:
        """The rigor gap."""
        leaderboard.look()
        return store.gap(_asked(query).filters).gap.to_json()

    def tasks(query: str = "") -> list[dict[str, Any]]:
        """Tasks with their figures."""
        leaderboard.look()
        return _rows(store.tasks(_asked(query).filters))

    def submissions(query: str = "") -> dict[str, Any]:
        """Submissions; ``gate``, ``outcome`` and ``offset`` in the query choose among them."""
        leaderboard.look()
        asked = _asked(query)
        words = {"gate": asked.option("gate"), "outcome": asked.option("outcome")}
        found = store.submissions(asked.filters, **words, offset=asked.number("offset", 0, 1 << 30), limit=MOST_ROWS)
        return {"total": found.total, "offset": found.offset, "rows": _rows(found.rows)}

    return board, gap, tasks, submissions


def _asked(query: str) -> Asked:
    return Asked.read("/", parse_qsl(str(query).removeprefix("?")))


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    import polars as pl

    times = [name for name, kind in table.schema.items() if isinstance(kind, pl.Datetime)]
    return table.head(MOST_ROWS).with_columns(pl.col(name).dt.to_string("iso:strict") for name in times).to_dicts()


def _tell(url: str) -> None:
    print(url, flush=True)


def serve(board: Leaderboard, host: str, port: int, *, open_browser: bool = False, told: Callable[[str], None] = _tell) -> None:
    """Serve until interrupted.

    Args:
        board: The pages.
        host: Address to listen at.
        port: Port to listen at; 0 for any that is free.
        open_browser: Show the board in the reader's browser.
        told: Called with the address once it answers.

    Raises:
        KcbenchError: The port is taken, or the address is none of this machine.
        MissingExtraError: Gradio is not installed.
    """
    if importlib.util.find_spec("gradio") is None:
        raise MissingExtraError("gradio", "leaderboard")
    listener = _listener(host, port)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{listener.getsockname()[1]}/"
    # The proxy of a Space says by which address readers came; nothing but an example on a page depends on it.
    config = uvicorn.Config(
        Server(board), log_level="warning", access_log=False, forwarded_allow_ips="*", timeout_graceful_shutdown=2
    )
    told(url)
    if open_browser:
        webbrowser.open(url)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=256)
    except OverflowError as error:
        raise KcbenchError("is no port", where=f"--port {port}", fix="choose one from 0 to 65535") from error
    except OSError as error:
        fix = "choose another one with --port, or 0 for any that is free"
        why = (error.strerror or str(error)).partition(" (")[0]
        raise KcbenchError(f"cannot be listened at: {why}", where=f"{host}:{port}", fix=fix) from error
    listener.setblocking(False)
    return listener
