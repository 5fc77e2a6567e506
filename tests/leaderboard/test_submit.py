"""Submitting a run: what is checked, and the pull request that comes of it, against a Hub on the loopback device."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gradio")
pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

import httpx

from kcbench.hub import parquet
from kcbench.hub.columns import RESULTS, SUBMISSIONS
from kcbench.leaderboard import upload
from kcbench.report.store import RunFolder
from tests.hub_server.faults import Fault
from tests.hub_server.running import GUEST, Hub, running_hub
from tests.leaderboard.serving import Watched, browsing, needs_browser, serving
from tests.report.conftest import HEADER, result

REPO = "lab/results"
KERNEL = "# kcbench: author=someone\nclass ModelNew: ...\n"
Files = Mapping[str, bytes]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running_hub(tmp_path_factory.mktemp("hub")) as running:
        running.publish(REPO, {"README.md": b"# Results\n"})
        yield running


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def url(hub: Hub, cache: Path) -> Iterator[str]:
    """A leaderboard without a token of its own."""
    with serving("--repo", REPO, cache=cache, env=hub.environment("")) as address:
        yield address


def run_files(folder: Path, *names: str, **header: Any) -> dict[str, bytes]:
    """The files of a run whose submissions have the same source."""
    facts = {"digest": hashlib.sha256(KERNEL.encode()).hexdigest()}
    with RunFolder.create(folder, {**HEADER, **header}) as made:
        for name in names:
            made.append(result(name, "PRC-01.tf32", facts=facts))
    return {name: (folder / name).read_bytes() for name in ("run.json", "verdicts.jsonl")} | {"kernel.py": KERNEL.encode()}


def zipped(files: Files, inside: str = "runs/mine/") -> dict[str, bytes]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(inside + name, content)
    return {"mine.zip": buffer.getvalue()}


def send(url: str, files: Files, *, token: str = "", do: str = "propose") -> tuple[int, str, list[str], str]:
    """Post the form: status, what came of it, the checks, and the address of the pull request."""
    parts = [("files", (name, content)) for name, content in files.items()]
    answer = httpx.post(f"{url}/submit", data={"token": token, "do": do, "repo": "x/y"}, files=parts, timeout=120)
    assert token == "" or token not in answer.text
    title = re.search(r'id="found-title">([^<]*)<', answer.text)
    checks = re.findall(r'<span class="state (\w+)">\w+</span><span>(.*?)</span>', answer.text)
    link = re.search(r'id="pull-request">([^<]*)<', answer.text)
    told = [f"{state}: {text.replace('&#39;', chr(39)).replace('&gt;', '>')}" for state, text in checks]
    return answer.status_code, title.group(1) if title else "", told, link.group(1) if link else ""


def test_a_run_becomes_a_pull_request_once(url: str, hub: Hub, cache: Path, tmp_path: Path) -> None:
    files = run_files(tmp_path / "run", "a", "b")
    status, title, told, link = send(url, zipped(files), do="check")
    assert (status, title, link) == (200, "The run can be proposed.", "")
    assert told[:2] == [
        f"good: run.json is valid: kcbench {HEADER['kcbench_version']} on {HEADER['device']['name']}, {HEADER['created']}.",
        "good: verdicts.jsonl is valid: 2 submissions for 1 task.",
    ]
    assert "note: 2 refused." in told
    assert hub.repo(REPO).pulls == []  # A check sends nothing.

    status, title, told, link = send(url, zipped(files), token=GUEST)
    assert (status, title) == (200, "Proposed. The maintainers look at it next.")
    assert link == f"{hub.url}/datasets/{REPO}/discussions/1"
    repo = hub.repo(REPO)
    assert [(pull.number, pull.author) for pull in repo.pulls] == [(1, "bob")]
    tree = repo.commits[repo.find("refs/pr/1")].tree
    tables = {path.partition("/")[0]: hub.store.blob(entry.blob) for path, entry in tree.items() if path.endswith(".parquet")}
    assert sorted({row["submission"] for row in parquet.read(tables["data"], RESULTS)}) == ["a", "b"]
    assert [row["source"] for row in parquet.read(tables["submissions"], SUBMISSIONS)] == [KERNEL, KERNEL]

    status, title, told, link = send(url, files, token=GUEST)  # The files themselves instead of an archive.
    assert (status, title, link) == (200, "There is nothing to add.", f"{hub.url}/datasets/{REPO}/discussions/1")
    assert told[-1] == "note: An open pull request holds these very results."
    assert len(repo.pulls) == 1
    assert GUEST not in (cache / "stderr").read_text()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"run.json": None}, "run.json is missing: it says how the run was made. It lies in the folder that --out named."),
        ({"verdicts.jsonl": None}, "verdicts.jsonl is missing: it holds the verdicts."),
        ({"run.json": b"{"}, "run.json is not JSON."),
        ({"run.json": b"{}"}, "run.json: $: "),
        ({"verdicts.jsonl": b"{}\n" * 5001}, "verdicts.jsonl has 5,001 results; at most 5,000 are taken here"),
        ({"verdicts.jsonl": b""}, "verdicts.jsonl is empty: the run has no results yet."),
        ({"verdicts.jsonl": b"{}\n"}, "verdicts.jsonl, line 1: $: "),
        ({"verdicts.jsonl": b"[" * 100_000 + b"\n"}, "verdicts.jsonl, line 1: is not a result"),
        ({"verdicts.jsonl": b"\xff\x00\n"}, "verdicts.jsonl, line 1: is not a result"),
    ],
)
def test_an_invalid_run_says_what_is_missing(url: str, hub: Hub, tmp_path: Path, change: dict[str, Any], told: str) -> None:
    files = {name: content for name, content in (run_files(tmp_path / "run", "a") | change).items() if content is not None}
    before = len(hub.repo(REPO).pulls)
    status, title, checks, _ = send(url, files, token=GUEST)
    assert (status, title) == (422, "This run cannot be proposed as it is.")
    assert any(check.startswith(f"bad: {told}") for check in checks), checks
    assert len(hub.repo(REPO).pulls) == before


def test_two_runs_at_once_and_broken_archives(url: str, tmp_path: Path) -> None:
    files = run_files(tmp_path / "run", "a")
    status, _, checks, _ = send(url, {**zipped(files), "run.json": files["run.json"]})
    assert (status, checks) == (422, ["bad: there is more than one run.json (send one run at a time)"])
    status, _, checks, _ = send(url, {"mine.zip": zipped(files)["mine.zip"][:200]})
    assert status == 422
    assert checks[0].startswith("bad: mine.zip: is no archive that can be read")
    assert send(url, {}, do="check")[2] == ["bad: No file was sent."]


def test_more_than_is_taken(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, title, checks, _ = send(url, {"mine.zip": b"\0" * (upload.LARGEST + 1)}, token=GUEST)
    assert (status, title) == (413, "Nothing was proposed.")
    assert checks == ["bad: That is more than 64 MiB. Send run.json, verdicts.jsonl and the kernels only, as one .zip."]

    # An archive is measured by what comes out of it.
    monkeypatch.setattr(upload, "LARGEST_UNPACKED", 1 << 20)
    bomb = zipped({"verdicts.jsonl": b" " * (4 << 20)})
    assert len(bomb["mine.zip"]) < 10_000
    (tmp_path / "folder").mkdir()
    found = upload.receive([("mine.zip", io.BytesIO(bomb["mine.zip"]))], tmp_path / "folder")
    assert [check.text.partition(" (")[0] for check in found.checks] == ["the files are too large"]
    assert not found.usable


def test_the_hub_refuses_or_is_away(url: str, hub: Hub, tmp_path: Path) -> None:
    files = run_files(tmp_path / "run", "z")
    for token, told in (
        ("", "bad: An access token is needed to open a pull request in your name."),
        ("hf_wrong", "bad: the Hub does not take your access token"),
    ):
        status, title, checks, _ = send(url, files, token=token)
        assert (status, title) == (422, "Nothing was proposed.")
        assert checks[-1].startswith(told), checks
    hub.conduct.faults.append(Fault("POST", "/commit/", 500))
    try:
        status, title, checks, _ = send(url, files, token=GUEST)
    finally:
        hub.conduct.faults.clear()
    assert (status, title) == (422, "Nothing was proposed.")
    assert checks[-1].startswith(f"bad: {REPO}: the Hub failed with status 500"), checks
    assert all("z" not in pull.title.split() for pull in hub.repo(REPO).pulls)


def test_offline_the_check_still_works(hub: Hub, tmp_path: Path) -> None:
    env = hub.environment("") | {"HF_ENDPOINT": "http://127.0.0.1:9"}
    with serving("--repo", REPO, cache=tmp_path / "cache", env=env) as url:
        files = run_files(tmp_path / "run", "a")
        assert send(url, files, do="check")[:2] == (200, "The run can be proposed.")
        status, title, checks, _ = send(url, files, token=GUEST)
        assert (status, title) == (422, "Nothing was proposed.")
        assert "cannot be reached" in checks[-1]


def test_no_path_that_a_run_names_is_opened(url: str, hub: Hub, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("TOKEN = 'not to be seen'\n")
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    options = {**HEADER["options"], "tasks": "hf://lab/evil"}
    with RunFolder.create(tmp_path / "run", {**HEADER, "seed": 99, "options": options}) as folder:
        folder.append(result("thief", "PRC-01.tf32", facts={"path": str(secret), "digest": digest}))
    files = {name: (tmp_path / "run" / name).read_bytes() for name in ("run.json", "verdicts.jsonl")}
    asked = len(hub.conduct.log)
    status, title, checks, _ = send(url, files | {"../../../evil.py": b"x"}, token=GUEST)
    assert (status, title) == (200, "Proposed. The maintainers look at it next."), checks
    assert not any("lab/evil" in path for _, path in hub.conduct.log[asked:])
    repo = hub.repo(REPO)
    tree = repo.commits[repo.find(f"refs/pr/{len(repo.pulls)}")].tree
    [rows] = [
        parquet.read(hub.store.blob(entry.blob), SUBMISSIONS) for path, entry in tree.items() if path.startswith("submissions/")
    ]
    assert [row["source"] for row in rows] == [None]
    assert json.loads(rows[0]["calls"]) == {}


@needs_browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_in_the_browser(url: str, hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    run_files(tmp_path / "run", "from-a-browser", seed=123)
    (tmp_path / "mine.zip").write_bytes(
        zipped({path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.json*")})["mine.zip"]
    )
    with browsing() as browser:
        window = Watched(browser, url)
        window.go("/submit")
        window.page.get_by_label("The run").set_input_files(tmp_path / "mine.zip")
        window.page.get_by_label("Access token").fill(GUEST)
        window.page.get_by_role("button", name="Check and open a pull request").click()
        link = window.page.locator("#pull-request").inner_text()
        assert link == f"{hub.url}/datasets/{REPO}/discussions/{len(hub.repo(REPO).pulls)}"
        assert window.page.get_by_label("Access token").input_value() == ""
        window.close()
