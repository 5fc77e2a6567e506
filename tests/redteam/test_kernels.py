"""Every honest control agrees with eager torch over its contract's class, and every broken kernel is wrong where its header says.

The stand-in for the gates is independent of them. Triton entries run on the interpreter, in a process of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from kcbench.redteam import Entry, load_catalog  # noqa: E402
from tests.redteam.bench import ROOT  # noqa: E402
from tests.redteam.diagnosis import diagnose  # noqa: E402

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
ENTRIES = [entry for entry in load_catalog() if (entry.submission().language == "triton") == INTERPRETED]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(11)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if not entry.broken], ids=lambda entry: entry.id)
def test_honest_control_is_honest(entry: Entry) -> None:
    found = diagnose(entry)
    if entry.submission().language == "triton":
        # Forward-only kernels: no contract of this suite requires a gradient of them.
        found.pop("CMP-02.missing", None)
    assert found == {}


# What a kernel reserves shows when it is compiled; nothing that the stand-in runs tells it.
WITNESSED = [
    entry
    for entry in ENTRIES
    if entry.broken and not entry.requires and not any(code.startswith("RES-02.") for code in entry.expect)
]


@pytest.mark.parametrize("entry", WITNESSED, ids=lambda entry: entry.id)
def test_broken_kernel_has_a_witness(entry: Entry) -> None:
    found = diagnose(entry)
    assert set(entry.expect) & set(found), found


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="this is the process that the test starts")
def test_triton_entries_on_the_interpreter() -> None:
    pytest.importorskip("triton")
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
