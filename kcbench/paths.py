"""Where the data that travels with kcbench lies: ``tasks/``, ``references/`` and ``schemas/``."""

from __future__ import annotations

import functools
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
