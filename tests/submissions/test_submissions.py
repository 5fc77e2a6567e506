"""The demo submissions: honest ones agree with eager wherever the contract holds, faulty ones differ on an input made for the fault.

Kernels are interpreted in one child process and compiled for sm_90 in another, side by side: Triton decides at import which it is.
That all of them fit a GPU is what RES-02 says of them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.submissions.catalogue import ALL, FAULTY, FAULTY_ON_A_GPU, FOLDER, HONEST, ROOT

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("triton", reason="needs triton")

# One process shares what the two children have found.
pytestmark = pytest.mark.xdist_group("submissions")
Findings = dict[str, Any]


def _start(script: str, *arguments: str, interpret: bool) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment = {**inherited, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    command = [sys.executable, "-m", f"tests.submissions.{script}", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _finish(child: subprocess.Popen[str]) -> Findings:
    out, err = child.communicate(timeout=600)
    assert child.returncode == 0, err
    return json.loads(out)


@pytest.fixture(scope="module")
def children() -> Iterator[dict[str, subprocess.Popen[str]]]:
    running = {"interpreted": _start("checks", "cpu", interpret=True), "compiled": _start("compiled", interpret=False)}
    yield running
    for child in running.values():
        child.kill()
        child.communicate()


@pytest.fixture(scope="module")
def interpreted(children: dict[str, subprocess.Popen[str]]) -> Findings:
    return _finish(children["interpreted"])


@pytest.fixture(scope="module")
def compiled(children: dict[str, subprocess.Popen[str]]) -> Findings:
    return _finish(children["compiled"])


def test_every_file_is_catalogued() -> None:
    assert sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.py")) == sorted(ALL)


def test_the_readme_tells_the_truth_about_each() -> None:
    rows = re.findall(r"^\| `(level\d/\S+)\.py` \|([^|]*)\|([^|]*)\|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    said = {name: code.strip(" `") for name, _, code in rows}
    assert said == {**dict.fromkeys(HONEST, ""), **FAULTY, **{name: code for name, (code, _) in FAULTY_ON_A_GPU.items()}}


@pytest.mark.parametrize("identifier", HONEST)
def test_honest_kernels_agree_with_eager(interpreted: Findings, identifier: str) -> None:
    assert {check: problem for check, problem in interpreted[identifier].items() if problem} == {}


@pytest.mark.parametrize("identifier", FAULTY)
def test_faults_show_where_they_should_and_pass_the_legacy_check(interpreted: Findings, identifier: str) -> None:
    assert interpreted[identifier] == {"witness": "", "legacy": ""}


@pytest.mark.parametrize("identifier", FAULTY_ON_A_GPU)
def test_faults_of_the_gpu_are_right_on_the_interpreter(interpreted: Findings, identifier: str) -> None:
    assert interpreted[identifier] == {"float32": "", "legacy": ""}


@pytest.mark.parametrize("identifier", FAULTY_ON_A_GPU)
def test_faults_of_the_gpu_are_in_the_compiled_kernel(compiled: Findings, identifier: str) -> None:
    launches = compiled[identifier]
    assert launches and isinstance(launches, list) and all(launches), launches


@pytest.mark.gpu
def test_on_a_gpu_the_honest_agree_with_eager_and_every_fault_shows() -> None:
    found = _finish(_start("checks", "cuda", interpret=False))
    problems = {(name, check): problem for name, checks in found.items() for check, problem in checks.items() if problem}
    assert problems == {}
