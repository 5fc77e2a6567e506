"""How many processors a process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcbench.cores import usable_cores


@pytest.fixture(autouse=True)
def sixteen_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))


def cores(folder: Path, groups: str, files: dict[str, str]) -> int:
    for name, text in files.items():
        path = folder / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "mine").write_text(groups)
    return usable_cores(folder / "sys", folder / "mine")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("5000 100000\n", 1),
        ("max 100000\n", 16),
        ("9900000 100000\n", 16),
        ("", 16),
        ("x\n", 16),
        ("0 0\n", 16),
    ],
)
def test_the_quota_of_a_container(text: str, expected: int, tmp_path: Path) -> None:
    assert cores(tmp_path, "0::/\n", {"cpu.max": text}) == expected


def test_the_tightest_of_nested_groups(tmp_path: Path) -> None:
    files = {
        "cpu.max": "max 100000\n",
        "a/cpu.max": "300000 100000\n",
        "a/b/cpu.max": "800000 100000\n",
        "other/cpu.max": "100000 100000\n",
    }
    assert cores(tmp_path, "0::/a/b\n", files) == 3


def test_the_first_version_of_control_groups(tmp_path: Path) -> None:
    files = {"cpu/job/cpu.cfs_quota_us": "400000\n", "cpu/job/cpu.cfs_period_us": "100000\n", "memory/job/cpu.max": "1 1\n"}
    assert cores(tmp_path, "5:memory:/job\n4:cpu,cpuacct:/job\n0::/job\n", files) == 4
    assert cores(tmp_path, "4:cpu,cpuacct:/job\n", {"cpu/job/cpu.cfs_quota_us": "-1\n"}) == 16


def test_where_nothing_is_known(tmp_path: Path) -> None:
    assert usable_cores(tmp_path / "sys", tmp_path / "none") == 16
    assert cores(tmp_path, "nonsense\n0:\n", {}) == 16
