"""A loopback Hub that runs in a thread of the test process, and the environment of its clients."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from tests.hub_server.app import LARGE, HubApp
from tests.hub_server.faults import Conduct
from tests.hub_server.store import Commit, Repo, Store

OWNER = "hf_owner"
"""Token that may write in ``lab``."""
GUEST = "hf_guest"
"""Token that may write in its own space only."""
TOKENS = {OWNER: ("ada", "lab"), GUEST: ("bob",)}


@dataclass(frozen=True)
class Hub:
    """A server that runs."""

    url: str
    folder: Path
    store: Store
    conduct: Conduct

    def repo(self, name: str) -> Repo:
        return self.store.repo(name)

    def publish(self, name: str, files: Mapping[str, bytes], *, tag: str = "", private: bool = False) -> str:
        """Put files into a new repository, as if somebody had pushed them.

        Args:
            name: ``ORG/NAME``.
            files: Content by path; Parquet files become large files.
            tag: Tag of the commit; empty for none.
            private: Whether it is private.

        Returns:
            The commit's id.
        """
        repo = self.store.create(name, private=private)
        tree = {path: self.store.put(data, large=path.endswith(LARGE)) for path, data in files.items()}
        oid = repo.add(Commit({**repo.commits[repo.head].tree, **tree}, "published", repo.head), "main")
        if tag:
            repo.refs[tag] = oid
        return oid

    def environment(self, token: str) -> dict[str, str]:
        """Environment of a client that knows no other Hub.

        Args:
            token: Its token; empty for none.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        extra = {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(self.folder / "home"),
            "KCBENCH_CACHE": str(self.folder / "home" / "kcbench"),
            "HF_HUB_DISABLE_XET": "1",  # With it the client looks for a storage that speaks another protocol.
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_PROXY": "127.0.0.1",
            "OMP_NUM_THREADS": "1",
        }
        return kept | extra | ({"HF_TOKEN": token} if token else {})


@contextmanager
def running_hub(folder: Path) -> Iterator[Hub]:
    """Run a Hub on a free port until the block is left.

    Args:
        folder: Where it keeps its blobs, and its clients their caches.
    """
    store, conduct = Store(folder / "blobs"), Conduct()
    config = uvicorn.Config(
        HubApp(store, conduct, TOKENS).asgi, port=0, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    limit = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive() and time.monotonic() < limit, "the server did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Hub(f"http://127.0.0.1:{port}", folder, store, conduct)
    finally:
        server.should_exit = True
        thread.join(10)
