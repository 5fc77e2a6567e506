"""App: the pages of the leaderboard as one ASGI application. Every view has its address, and each page is made on the server."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kcbench.errors import KcbenchError
from kcbench.hub.address import SCHEME, Address
from kcbench.leaderboard.figures import Facts
from kcbench.leaderboard.limits import BodyTooLargeError, HeaderMiddleware, drain, limited
from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page, render
from kcbench.leaderboard.store import Store
from kcbench.leaderboard.theme import assets
from kcbench.leaderboard.upload import LARGEST, receive
from kcbench.leaderboard.views import about, board, compare, gap, gates, speed, submission, submissions, submit, tasks
from kcbench.report.text import one_line, slug

VIEWS: Mapping[str, Callable[[Store, Asked], Page]] = {
    "/": board.view,
    "/gap": gap.view,
    "/gates": gates.view,
    "/submissions": submissions.view,
    "/submission": submission.view,
    "/tasks": tasks.view,
    "/task": tasks.view_task,
    "/compare": compare.view,
    "/speed": speed.view,
    "/about": about.view,
}
LOCAL_WAIT, HUB_WAIT = 2.0, 60.0
"""Seconds between two looks at whether the source has changed: a folder costs little to look at, the Hub is asked politely."""
_FILES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


class Leaderboard:
    """The pages over one store.

    Args:
        store: The results.
        repo: The results dataset that runs are proposed to; empty where the reader has to name one. The store's own if it is one.
    """

    def __init__(self, store: Store, repo: str = "") -> None:
        self.store = store
        source = store.facts().source
        self.repo = repo or (Address.parse(source).repo if source.startswith(SCHEME) else "")
        self._wait = HUB_WAIT if source.startswith(SCHEME) else LOCAL_WAIT
        self._looked = time.monotonic()
        self._looking = threading.Lock()
        self._trouble = ""
        self._uploads = asyncio.Semaphore(2)  # So many readers at a time can have their files in memory.
        pages = Starlette(
            routes=[
                *(Route(path, self._shown(view)) for path, view in VIEWS.items()),
                Route("/submit", self._shown(lambda store, asked: submit.view(store, asked, repo=self.repo))),
                Route("/submit", self.submit, methods=["POST"]),
                Route("/board.{form:str}", self.download),
                Route("/repro", self.repro),
                Route("/fresh", self.fresh),
                Route("/static/{digest}/{name}", self.static),
                Route("/robots.txt", lambda _: PlainTextResponse("User-agent: *\nDisallow: /submission\nDisallow: /compare\n")),
            ],
            middleware=[Middleware(GZipMiddleware, minimum_size=1024, compresslevel=4)],
            exception_handlers={HTTPException: self._missing, KcbenchError: self._bad, Exception: self._fault},
        )
        self.asgi = HeaderMiddleware(pages)

    # Pages.

    def _shown(self, view: Callable[[Store, Asked], Page]) -> Callable[[Request], Response]:
        def show(request: Request) -> Response:
            self.look()
            asked = Asked.read(request.url.path, request.query_params.multi_items())
            return self._respond(view(self.store, asked), asked, request)

        return show

    def _respond(self, page: Page, asked: Asked, request: Request) -> Response:
        facts = self.store.facts()
        if self._trouble:
            facts = replace(facts, faults=(self._trouble, *facts.faults))
        shown = replace(page, context={**page.context, "state": _state(facts), "base": str(request.base_url)})
        text = render(shown, asked, facts, self.store.choices())
        return HTMLResponse(text, page.status, headers={"Cache-Control": "no-cache"})

    def _note(self, request: Request, title: str, meaning: str, status: int) -> Response:
        page = Page("missing.html.j2", "", title, meaning, filtered=False, status=status)
        return self._respond(page, Asked.read("/", ()), request)

    def _missing(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return self._note(request, "There is no such page", "The address may be mistyped, or from another version.", 404)
        return self._note(request, "This cannot be asked", one_line(error.detail, limit=200), error.status_code)

    def _bad(self, request: Request, error: Exception) -> Response:
        return self._note(request, "This cannot be shown", one_line(error, limit=400), 400)

    def _fault(self, request: Request, _error: Exception) -> Response:
        """A page in place of a traceback, which the server logs."""
        meaning = "That is a fault of the leaderboard and not of the results. The other views are not concerned."
        return self._note(request, "This view failed", meaning, 500)

    # Freshness.

    def look(self) -> None:
        """See in the background whether the source has changed, unless that was done a moment ago."""
        if time.monotonic() - self._looked < self._wait or not self._looking.acquire(blocking=False):
            return
        self._looked = time.monotonic()

        def refresh() -> None:
            try:
                self.store.refresh()
                self._trouble = ""
            except KcbenchError as error:  # The pages go on with what they have, and say so.
                self._trouble = one_line(error, limit=300)
            finally:
                self._looked = time.monotonic()
                self._looking.release()

        threading.Thread(target=refresh, name="refresh", daemon=True).start()

    def fresh(self, _request: Request) -> Response:
        """What a page that is open asks from time to time: whether it is still up to date."""
        self.look()
        facts = self.store.facts()
        answer = {"revision": _state(facts), "read": facts.read.isoformat(), "now": datetime.now(UTC).isoformat()}
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    # Files.

    def download(self, request: Request) -> Response:
        """The board as a file."""
        form = request.path_params["form"]
        if form not in _FILES:
            raise HTTPException(404)
        asked = Asked.read(request.url.path, request.query_params.multi_items())
        content = board.download(self.store, asked.filters, form)
        return Response(content, headers=_attached(f"kcbench-board.{form}"), media_type=_FILES[form])

    def repro(self, request: Request) -> Response:
        """A reproduction script."""
        asked = Asked.read(request.url.path, request.query_params.multi_items())
        text = submission.script(self.store, asked)
        if text is None:
            raise HTTPException(404)
        name = slug(f"{asked.option('id').replace('/', '__')}-{asked.option('code')}")[:120]
        return Response(
            text.encode("utf-8", "replace"), headers=_attached(f"{name}.py"), media_type="text/x-python; charset=utf-8"
        )

    def static(self, request: Request) -> Response:
        """A file that pages load."""
        asset = assets().get(request.path_params["name"])
        if asset is None:
            raise HTTPException(404)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(asset.content, headers=headers, media_type=asset.media_type)

    # Submitting.

    async def submit(self, request: Request) -> Response:
        """Check what was sent, and propose it if asked to. Files live until the answer is given, tokens likewise."""
        asked = Asked.read("/submit", ())
        try:
            async with limited(request, LARGEST).form(max_files=200, max_fields=10) as form, self._uploads:
                page = await run_in_threadpool(self._submitted, form)
        except BodyTooLargeError:
            await drain(request, 8 * LARGEST)
            what = f"That is more than {LARGEST >> 20} MiB. Send run.json, verdicts.jsonl and the kernels only, as one .zip."
            page = submit.refused(self.repo, what, 413)
        except HTTPException as error:
            page = submit.refused(self.repo, one_line(error.detail, limit=200), error.status_code)
        return await run_in_threadpool(self._respond, page, asked, request)

    def _submitted(self, form: FormData) -> Page:
        files = [item for item in form.getlist("files") if isinstance(item, UploadFile) and item.filename]
        if not files:
            return submit.refused(self.repo, "No file was sent.")
        proposal = submit.Proposal(self.repo or _word(form, "repo"), _word(form, "token"), wanted=_word(form, "do") == "propose")
        with tempfile.TemporaryDirectory(prefix="kcbench-upload-") as folder:
            upload = receive(((item.filename or "", item.file) for item in files), Path(folder))
            return submit.answer(self.store, upload, proposal, fixed=bool(self.repo))


def _word(form: FormData, name: str) -> str:
    value: Any = form.get(name, "")
    return value.strip()[:400] if isinstance(value, str) else ""


def _state(facts: Facts) -> str:
    """Changes whenever the figures may."""
    return f"{facts.revision[:12]} {facts.changed.timestamp():.3f}".strip()


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-cache"}
