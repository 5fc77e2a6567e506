"""Limits: what the server says of itself with every answer, and how much it takes from a stranger."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kcbench.leaderboard.theme import HEADERS


class BodyTooLargeError(Exception):
    """More was sent than is taken."""


class HeaderMiddleware:
    """Adds the headers of :data:`kcbench.leaderboard.theme.HEADERS` to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, sent if scope["type"] == "http" else send)


def limited(request: Request, largest: int) -> Request:
    """A request that ends in :class:`BodyTooLargeError` once its body is larger than so many bytes, whatever its header says."""
    seen = 0

    async def receive() -> Message:
        nonlocal seen
        message = await request.receive()
        seen += len(message.get("body", b""))
        if seen > largest:
            raise BodyTooLargeError
        return message

    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > largest:
        raise BodyTooLargeError
    return Request(request.scope, receive)


async def drain(request: Request, most: int) -> None:
    """Read on and keep nothing, up to so many bytes: a browser hears an answer only once it has sent everything."""
    seen = 0
    while seen < most:
        message = await request.receive()
        seen += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return
