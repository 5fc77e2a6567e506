"""Origin: where the tasks of a run came from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcbench.hub.address import SCHEME, Address

KCBENCH, LOCAL = "kcbench", "local"
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Origin:
    """A set of tasks and its version."""

    dataset: str
    """``kcbench`` for the tasks that came with it, ``local`` for those of a folder, or the ``ORG/NAME`` of a dataset."""
    version: str
    """Version of kcbench; for a folder, a digest of the tasks that were used; for a dataset, its revision."""
    spec: str = ""
    """What ``--tasks`` takes to find them again; empty for the tasks that came with kcbench."""

    @property
    def repo(self) -> str:
        """``ORG/NAME``, or empty where the tasks came from no dataset on the Hub."""
        return self.dataset if self.spec.startswith(SCHEME) else ""

    @property
    def commit(self) -> str:
        """The commit of the dataset, or empty where none is known."""
        return self.version if self.repo and _COMMIT.fullmatch(self.version) else ""

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> Origin:
        """The origin of a run's tasks.

        Args:
            header: ``run.json``. Its option ``tasks`` says where they came from, if they did not come with kcbench.
        """
        spec = str(header["options"].get("tasks") or "")
        if spec.startswith(SCHEME):
            address = Address.parse(spec)
            return cls(address.repo, address.revision or "main", spec)
        if spec:
            digest = hashlib.sha256(json.dumps(header["tasks"], sort_keys=True).encode()).hexdigest()
            return cls(LOCAL, digest, spec)
        return cls(KCBENCH, header["kcbench_version"])

    def root(self) -> Path:
        """The data root that holds these tasks.

        Raises:
            KcbenchError: They cannot be found, or fetched.
        """
        from kcbench.hub.source import open_tasks
        from kcbench.paths import data_root

        return open_tasks(self.spec).root if self.spec else data_root()
