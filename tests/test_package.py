"""What is published: metadata, lazy names, set-up commands, and the wheel."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import kcbench

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _citation() -> Any:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_version_is_the_same_everywhere() -> None:
    assert importlib.metadata.version("kcbench") == kcbench.__version__ == str(_citation()["version"])
    assert f"## {kcbench.__version__} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_names_load_on_first_use() -> None:
    code = (
        "import sys, kcbench\n"
        "assert not {'torch', 'numpy', 'typer', 'kcbench.engine'} & set(sys.modules)\n"
        "assert set(kcbench.__all__) <= set(dir(kcbench))\n"
        "assert kcbench.load_task('level1/relu').id == 'level1/relu'\n"
        "assert kcbench.Verdict.__name__ == 'Verdict' and kcbench.Result and kcbench.Task\n"
        "assert 'torch' not in sys.modules\n"
        "assert callable(kcbench.evaluate)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        kcbench.nonsense  # noqa: B018


def test_citation_has_what_cff_requires() -> None:
    data = _citation()
    assert data["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(data)
    urls = [reference["url"] for reference in data["references"]]
    assert urls == ["https://arxiv.org/abs/2608.12700", "https://arxiv.org/abs/2604.22032"]
    for reference in data["references"]:
        assert {"type", "title", "authors"} <= set(reference)
        assert all({"family-names", "given-names"} <= set(author) for author in reference["authors"])


def test_citation_follows_the_official_schema() -> None:
    spec = importlib.util.find_spec("cffconvert")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the schema that cffconvert carries (pip install --no-deps cffconvert)")
    path = Path(spec.submodule_search_locations[0]) / "schemas" / "1.2.0" / "schema.json"
    jsonschema.Draft7Validator(json.loads(path.read_text(encoding="utf-8"))).validate(_citation())


def test_license_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_set_up_is_two_commands() -> None:
    section = README.partition("## Set up")[2].partition("\n## ")[0]
    commands = re.findall(r"```sh\n(.*?)\n```", section, re.DOTALL)
    assert len(commands) == 2
    assert all("\n" not in command and command.startswith("python3 -m venv .venv && ") for command in commands)
    assert commands[0].endswith(".venv/bin/kcbench eval submissions/")
    assert ".venv/bin/pytest" in commands[1]


def test_ci_runs_the_command_of_the_readme(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    (tmp_path / "README.md").write_text(README.replace("python3 -m venv", "false && python3 -m venv"), encoding="utf-8")
    done = subprocess.run(["bash", ".ci/run"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, "a command that fails must fail the run"
    assert done.stdout.startswith("+ false && python3 -m venv .venv && ")
    assert done.stdout.count("\n") == 1
    (tmp_path / "README.md").write_text("nothing here", encoding="utf-8")
    done = subprocess.run(["bash", ".ci/run"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, ".ci/run: README.md has no test command\n")


def test_constraints_fit_the_requirements() -> None:
    from packaging.requirements import Requirement

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = {item.name: item for names in extras.values() for item in map(Requirement, names)}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert {pin.name for pin in pins} == {"torch", "triton"}
    for pin in pins:
        (version,) = (item.version for item in pin.specifier)
        assert wanted[pin.name].specifier.contains(version)


@pytest.mark.slow
def test_wheel_carries_its_data(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", tmp_path, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    for folder in ("tasks", "references", "schemas"):
        expected = {
            path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".json") and "__pycache__" not in path.parts
        }
        assert expected
        assert {f"kcbench/_data/{path.relative_to(ROOT).as_posix()}" for path in expected} <= names
    package = {path for path in (ROOT / "kcbench").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.relative_to(ROOT).as_posix() for path in package} <= names
    assert not [name for name in names if name.endswith(".pyc") or name.startswith("tests/")]

    code = "import kcbench.paths, kcbench.tasks; print(kcbench.paths.data_root()); print(len(kcbench.tasks.list_tasks()))"
    site = str(tmp_path / "site")
    environment = {"PYTHONPATH": site, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [f"{site}/kcbench/_data", str(len(list((ROOT / "tasks").glob("*/*/task.py"))))], (
        done.stderr
    )
