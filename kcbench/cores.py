"""Cores: how many processors this process may use."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_MINE = Path("/proc/self/cgroup")


def usable_cores(mounted: Path = _CGROUPS, mine: Path = _MINE) -> int:
    """Processors that this process may keep busy: those of its affinity, or fewer where a control group allows less time.

    A container with a quota of two processors sees all those of its host; as many workers would wait for one another.

    Args:
        mounted: Where control groups are mounted.
        mine: The file that names the control groups of this process.
    """
    quotas = [math.ceil(quota) for quota in _quotas(mounted, mine)]
    return max(1, min([len(os.sched_getaffinity(0)), *quotas]))


def _quotas(mounted: Path, mine: Path) -> Iterator[float]:
    """Quotas of this process's groups and of those above them, in processors; version 2 and version 1 of the interface."""
    for line in _lines(mine):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        root = mounted / "cpu" if "cpu" in controllers.split(",") else mounted
        if controllers and root == mounted:
            continue
        group = root / path.strip().lstrip("/")
        for place in (group, *group.parents):
            if not place.is_relative_to(root):
                break
            both = " ".join(_lines(place / "cpu.max")) or " ".join(
                (*_lines(place / "cpu.cfs_quota_us"), *_lines(place / "cpu.cfs_period_us"))
            )
            quota, _, period = both.partition(" ")
            if quota.isdigit() and period.isdigit() and int(quota) and int(period):
                yield int(quota) / int(period)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").split("\n")[:-1]
    except OSError:
        return []
