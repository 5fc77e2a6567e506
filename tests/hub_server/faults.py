"""What the loopback Hub is told to do wrong, and what it was asked."""

from __future__ import annotations

import asyncio
import re
import threading
from dataclasses import dataclass, field

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass
class Fault:
    """Answer some requests wrongly.

    Attributes:
        method: Method of these requests.
        path: Pattern that is searched for in their paths.
        status: What to answer; None to say nothing until the client has gone, or ``release`` is set.
        skip: How many of them are answered rightly before.
        times: How often it strikes.
        reached: Set when the fault has struck.
        release: Set it to let a request that waits go on.
    """

    method: str
    path: str
    status: int | None = None
    skip: int = 0
    times: int = 1 << 30
    reached: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)

    def strikes(self, method: str, path: str) -> bool:
        if method != self.method or not re.search(self.path, path):
            return False
        self.skip -= 1
        if self.skip >= 0 or self.times == 0:
            return False
        self.times -= 1
        self.reached.set()
        return True


@dataclass
class Conduct:
    """The switches of one server; a test sets them while it runs."""

    faults: list[Fault] = field(default_factory=list)
    log: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each request."""
    ranges: list[str] = field(default_factory=list)
    """Paths of the requests that asked for a part of a file."""

    def asked(self, method: str, path: str) -> list[str]:
        """Paths of the requests so far that match."""
        return [seen for verb, seen in self.log if verb == method and re.search(path, seen)]


class FaultMiddleware:
    """Logs each request, and lets the faults strike before the application sees it."""

    def __init__(self, app: ASGIApp, conduct: Conduct) -> None:
        self.app, self.conduct = app, conduct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        self.conduct.log.append((method, path))
        if any(name == b"range" for name, _ in scope["headers"]):
            self.conduct.ranges.append(path)
        fault = next((fault for fault in self.conduct.faults if fault.strikes(method, path)), None)
        if fault is None:
            await self.app(scope, receive, send)
        elif fault.status is None:
            again = await _hold(fault.release, receive)
            if again is not None:
                await self.app(scope, again, send)
        else:
            await JSONResponse({"error": f"told to answer {fault.status}"}, fault.status)(scope, receive, send)


async def _hold(release: threading.Event, receive: Receive) -> Receive | None:
    """Wait for the event, and return what gives the request again; None where the client has gone meanwhile."""
    seen: list[Message] = []

    async def listen() -> None:
        while not seen or seen[-1]["type"] != "http.disconnect":
            seen.append(await receive())

    async def replay() -> Message:
        return seen.pop(0) if seen else await receive()

    listener = asyncio.create_task(listen())
    while not release.is_set() and not listener.done():
        await asyncio.sleep(0.02)
    gone = listener.done()
    listener.cancel()
    return None if gone else replay
