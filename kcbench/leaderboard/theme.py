"""Theme: the files that every page loads, and the policy that lets it load nothing else."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from kcbench.report.html import TEMPLATES as REPORT

STATIC = Path(__file__).parent / "static"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'self' https://huggingface.co",  # A Space is shown in a frame there.
    )
)
"""Content-Security-Policy of every page: no script but our file, nothing from elsewhere, no inline script or style."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), browsing-topics=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True)
class Asset:
    """A file that pages load."""

    name: str
    media_type: str
    content: bytes

    @property
    def url(self) -> str:
        """Its address, which changes with its content so that it can be cached for ever."""
        return f"/static/{hashlib.sha256(self.content).hexdigest()[:12]}/{self.name}"


@functools.cache
def assets() -> dict[str, Asset]:
    """All files, by name. The style sheet begins with that of the HTML report: one palette, one look."""
    style = b"\n".join(path.read_bytes() for path in (REPORT / "report.css", STATIC / "leaderboard.css"))
    return {
        "leaderboard.css": Asset("leaderboard.css", "text/css; charset=utf-8", style),
        "leaderboard.js": Asset("leaderboard.js", "text/javascript; charset=utf-8", (STATIC / "leaderboard.js").read_bytes()),
        "icon.svg": Asset("icon.svg", "image/svg+xml", (STATIC / "icon.svg").read_bytes()),
    }
