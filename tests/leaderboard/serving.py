"""The leaderboard as a reader starts it: a process of its own, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")


@contextmanager
def serving(*arguments: object, cache: Path, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run ``kcbench leaderboard`` on a free port until the block is left; gives its address without a slash at the end.

    Args:
        arguments: Further arguments.
        cache: Its cache folder; what it says on stderr is in ``stderr`` there.
        env: Its environment; this process's if not given.
    """
    cache.mkdir(parents=True, exist_ok=True)
    environment = {**(env or os.environ), "KCBENCH_CACHE": str(cache / "kcbench"), "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "kcbench", "leaderboard", "--port", "0", *map(str, arguments)]
    with (cache / "stderr").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("http://127.0.0.1:"), (line, (cache / "stderr").read_text())
            yield line.split()[0].rstrip("/")
        finally:
            process.terminate()
            process.wait(20)
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def browsing() -> Iterator[Any]:
    """Run Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Containers have no user namespaces, which Chromium's own sandbox needs.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page of a new window, with everything that went wrong in it."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.context.set_default_timeout(20_000)
        self.page = self.context.new_page()
        self.url = url
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("request", self._request)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.wrong.append(f"asked elsewhere: {request.url}")

    def go(self, path: str) -> Any:
        """Load an address as if it had been typed."""
        return self.page.goto(self.url + path)

    def shown(self, act: Any) -> None:
        """Do something, and wait until the page has changed in place."""
        self.page.evaluate(
            "() => { window.changed = new Promise((done) => document.body.addEventListener('kcbench:shown', done, {once: true})) }"
        )
        act()
        self.page.evaluate("() => window.changed.then(() => null)")

    def rows(self) -> list[str]:
        """The first cell of each row of the first table."""
        return [text.strip() for text in self.page.locator("main table >> nth=0").locator("tbody th").all_inner_texts()]

    def close(self) -> None:
        """Close it, and say what went wrong."""
        self.context.close()
        assert self.wrong == []
