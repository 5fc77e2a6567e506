r"""Build: the tasks as a dataset folder that the Hub and ``datasets.load_dataset`` read as it is.

::

    data/all/test-00000-of-00001.parquet         all tasks
    data/level_<n>/test-00000-of-00001.parquet   those of one level
    data/references/test-00000-of-00001.parquet  float64 references, apart, so that they can be held back
    README.md                                    dataset card
    eval.yaml                                    what makes it a benchmark on the Hub
    croissant.json                               metadata in Croissant's form
    kcbench.json                                 version and digests, see :mod:`kcbench.hub.manifest`
    CITATION.cff

Equal tasks give equal bytes. A build is complete or it is not there: it is made in a folder beside and then renamed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kcbench import __version__
from kcbench.errors import KcbenchError
from kcbench.hub import croissant, evals
from kcbench.hub.card import card
from kcbench.hub.columns import REFERENCES, TASKS, require_pyarrow
from kcbench.hub.figures import Figures
from kcbench.hub.manifest import NAME as MANIFEST
from kcbench.hub.manifest import Manifest, config_of, data_file
from kcbench.hub.parquet import write
from kcbench.hub.rows import load_tasks, reference_row, task_row
from kcbench.hub.yaml_text import yaml_text
from kcbench.paths import data_root

CITATION = "CITATION.cff"


def build(out: Path, *, version: str | None = None, root: Path | None = None, repo: str = "", published: str = "") -> Manifest:
    """Build the dataset.

    Args:
        out: The folder to make; a former build in it is replaced.
        version: Version of the dataset; that of kcbench by default.
        root: Folder that holds ``tasks/`` and ``references/``; by default the data that came with kcbench.
        repo: ``ORG/NAME`` where it will be published, for the examples of the card; may be empty.
        published: Date of publication (ISO 8601) for the metadata; may be empty.

    Returns:
        What was built.

    Raises:
        KcbenchError: A task is incomplete or not valid, ``out`` holds something else than a build, or it cannot be written.
        MissingExtraError: pyarrow or PyYAML is not installed.
    """
    require_pyarrow()
    version = version or __version__
    check_replaceable(out)
    citation = _citation()
    tasks = list(load_tasks(root or data_root()))
    rows = [task_row(task) for task in tasks]
    references = [reference_row(task) for task in tasks]
    levels = sorted({row["level"] for row in rows})
    tables: dict[str, tuple[Sequence[Mapping[str, Any]], str]] = {
        "all": (rows, TASKS),
        **{config_of(level): ([row for row in rows if row["level"] == level], TASKS) for level in levels},
        "references": (references, REFERENCES),
    }
    figures = Figures.of(rows)
    with new_folder(out) as folder:
        files = {data_file(config): write(folder / data_file(config), part, table) for config, (part, table) in tables.items()}
        manifest = Manifest(version, __version__, {config: len(part) for config, (part, _) in tables.items()}, files)
        manifest.write(folder)
        scored = [config for config in tables if config != "references"]
        metadata = croissant.croissant(figures, list(tables), files, version=version, repo=repo, published=published)
        for name, text in (
            ("README.md", card(figures, list(tables), version=version, repo=repo)),
            (evals.NAME, yaml_text(evals.evals(figures, scored))),
            (croissant.NAME, json.dumps(metadata, indent=2, ensure_ascii=False) + "\n"),
            (CITATION, citation),
        ):
            (folder / name).write_text(text, encoding="utf-8")
    return manifest


def _citation() -> str:
    path = data_root() / CITATION
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror}", where=str(path), fix="reinstall kcbench") from error


def check_replaceable(out: Path) -> None:
    """Find out whether a build may take the place of what is there.

    Raises:
        KcbenchError: It is a file, or a folder with something else in it than a build.
    """
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir() or out.is_symlink():
        raise KcbenchError("is in the way", where=str(out), fix="name a folder that is new, empty, or a former build")
    if any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise KcbenchError(
            "holds something else than a build", where=str(out), fix="name a folder that is new, empty, or a former build"
        )


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill beside ``target``, which takes its place if all goes well and vanishes if not.

    Raises:
        KcbenchError: The folder cannot be written.
    """
    target = target.absolute()
    made: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new-"))
        made.chmod(0o755)
        yield made
        _replace(made, target)
    except OSError as error:
        raise KcbenchError(f"the folder cannot be written: {error.strerror or error}", where=str(target)) from error
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)


def _replace(made: Path, target: Path) -> None:
    """Put a folder in the place of another, or of none; another process may do the same."""
    former = made.with_name(made.name.replace(".new-", ".old-"))
    for last in (False, False, True):
        with contextlib.suppress(FileNotFoundError):
            os.rename(target, former)
        try:
            os.rename(made, target)
            break
        except OSError:
            if former.exists() and not target.exists():
                os.rename(former, target)
            if last:
                raise
        finally:
            shutil.rmtree(former, ignore_errors=True)
