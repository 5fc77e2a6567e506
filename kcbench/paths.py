"""Where the data that travels with kcbench lies (``tasks/``, ``references/`` and ``schemas/``), and where its cache is."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from kcbench.errors import KcbenchError


@functools.cache
def data_root() -> Path:
    """The folder that holds ``tasks/``, ``references/`` and ``schemas/``.

    An installed wheel carries them in ``kcbench/_data``; a checkout has them beside the package.

    Raises:
        KcbenchError: Neither place has them, so the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_data", package.parent):
        if (folder / "schemas").is_dir() and (folder / "tasks").is_dir():
            return folder
    raise KcbenchError("the tasks and schemas of kcbench are missing", where=str(package), fix="reinstall kcbench")


def default_cache() -> Path:
    """Where contracts and datasets are kept: ``$KCBENCH_CACHE``, or ``kcbench`` in the user's cache folder."""
    named = os.environ.get("KCBENCH_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kcbench"
