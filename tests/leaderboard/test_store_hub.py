"""The store over a results dataset on the Hub, which here runs on the loopback device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

from kcbench.hub.results import write_run
from kcbench.report.store import RunFolder
from tests.hub_server.clients import Client, files_of
from tests.hub_server.running import running_hub
from tests.report.conftest import HEADER, result

REPO = "lab/results"
ASK = """
import json
from kcbench.errors import KcbenchError
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.store import Store

def told(store):
    facts, rows = store.facts(), store.submissions(Filters()).rows
    first = rows.sort("submission").row(0, named=True)
    detail = store.submission(first["run"], first["submission"])
    return [facts.source, facts.revision, facts.faults, sorted(rows["submission"]), sum(rows["verified"]), detail.evidence]

"""


def run_files(folder: Path, name: str, seed: str) -> dict[str, bytes]:
    with RunFolder.create(folder / f"run-{seed}", {**HEADER, "seed": seed}) as run:
        run.append(result(name, "CMP-01.value"))
    write_run(folder / f"run-{seed}", folder / seed)
    return files_of(folder / seed)


def test_a_dataset_is_followed_and_outlives_its_hub(tmp_path: Path) -> None:
    first = {f"verified/{name}": data for name, data in run_files(tmp_path, "a", "1").items()}
    second = run_files(tmp_path, "b", "2")
    open_it = f"store = Store.open('hf://{REPO}')\nanswers = [told(store)]\n"
    with running_hub(tmp_path / "hub") as hub:
        commit = hub.publish(REPO, first, tag="v1")
        later = tmp_path / "hub" / "later"
        wait = f"open({str(later)!r}, 'w').close()\nimport os, time\nwhile os.path.exists({str(later)!r}): time.sleep(0.05)\n"
        process = Client(hub).start(
            "-c",
            f"{ASK}{open_it}answers += [store.refresh()]\n{wait}answers += [store.refresh(), told(store)]\nprint(json.dumps(answers))",
        )
        while not later.exists():
            assert process.poll() is None, process.communicate()[1]
        pinned = Client(hub).json(f"{ASK}print(json.dumps(told(Store.open('hf://{REPO}@v1'))))")
        assert pinned == [f"hf://{REPO}@v1", commit, [], ["a"], 1, True]
        newer = hub.publish(REPO, {**first, **second})
        later.unlink()
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        before, same, changed, after = json.loads(out)
        assert before == [f"hf://{REPO}", commit, [], ["a"], 1, True]
        assert (same, changed) == (False, True)
        assert after == [f"hf://{REPO}", newer, [], ["a", "b"], 1, True]
        missing = "try:\n    Store.open('hf://lab/none')\nexcept KcbenchError as error:\n    print(json.dumps(str(error)))"
        assert Client(hub).json(ASK + missing).startswith("lab/none: there is no such dataset on the Hub (")
    [offline] = Client(hub).json(f"{ASK}{open_it}print(json.dumps(answers))")
    assert offline[:2] == [f"hf://{REPO}", newer]
    assert offline[3:] == [["a", "b"], 1, True]
    [fault] = offline[2]
    assert fault.startswith("not the newest state: ") and "cannot be reached" in fault
