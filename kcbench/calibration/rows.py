"""Rows: what ``kcbench redteam --variants N --json`` and ``--mutants N --json`` wrote, one kernel a line.

Only the keys that the calibration needs are read; others may be there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcbench.errors import KcbenchError

CLEAN, REFUSED, ERROR = "clean", "refused", "error"
SURVIVED, EQUIVALENT, UNRUNNABLE, FAILED = "survived", "equivalent", "unrunnable", "failed"
DIED = "died"
"""Stands for a code where a mutant ended its process or did not come back."""
STATES = (CLEAN, REFUSED, ERROR)
STATUSES = (REFUSED, SURVIVED, EQUIVALENT, UNRUNNABLE, FAILED)

Ratios = Mapping[str, Mapping[str, float]]
"""By gate and dtype: the largest finite error in units of what is allowed."""


@dataclass(frozen=True)
class Study:
    """What the outcomes of a study depend on beside the kernels."""

    seed: str
    device: str
    torch: str
    """Version of torch."""


@dataclass(frozen=True)
class Honest:
    """An honest kernel before the gates."""

    id: str
    task: str
    language: str
    state: str
    """``clean``, ``refused`` or ``error``: a gate failed."""
    proven: bool
    """Whether it was shown to be honest without the gates."""
    ratios: Ratios
    checkers: Mapping[str, bool]
    """Whether other checks accept it, by their id; empty where they were not asked."""
    study: Study

    @property
    def judged(self) -> bool:
        """It is honest beyond doubt, and the gates answered."""
        return self.proven and self.state != ERROR


@dataclass(frozen=True)
class Broken:
    """A kernel with a planted fault before the gates."""

    subject: str
    """The honest original."""
    language: str
    id: str
    fault: str
    """Fault class."""
    operator: str
    status: str
    """``refused``, ``survived``, ``equivalent`` (no input shows a fault), ``unrunnable`` or ``failed``: kcbench."""
    codes: tuple[str, ...]
    """``GATE.code`` of every finding."""
    ratios: Ratios
    checkers: Mapping[str, bool]
    study: Study

    @property
    def task(self) -> str:
        return self.subject.rpartition("/")[0]

    @property
    def witnessed(self) -> bool:
        """An input inside the contract shows its fault, and the gates answered."""
        return self.status in (REFUSED, SURVIVED)

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates that refuse it, each once; a code without a gate stands for itself."""
        return tuple(dict.fromkeys(code.partition(".")[0] for code in self.codes))


def read_honest(path: Path) -> tuple[Honest, ...]:
    """Read the variants of a study. Of one that was examined again the last line counts.

    Raises:
        KcbenchError: The file cannot be read, is empty, holds several studies or anything but variants.
    """
    rows = tuple(
        Honest(
            id=line.text("id"),
            task=line.text("task"),
            language=line.text("language"),
            state=line.one_of("state", STATES),
            proven=line.flag("proven"),
            ratios=line.ratios(),
            checkers=line.checkers(),
            study=line.study(),
        )
        for line in _lines(path, "variant")
    )
    _same_study(path, {row.study for row in rows})
    return tuple({row.id: row for row in rows}.values())


def read_broken(path: Path) -> tuple[Broken, ...]:
    """Read the mutants of a study. Of one that was examined again the last line counts.

    Raises:
        KcbenchError: The file cannot be read, is empty, holds several studies or anything but mutants.
    """
    rows = tuple(
        Broken(
            subject=line.text("subject"),
            language=line.text("language"),
            id=line.text("id"),
            fault=line.text("fault"),
            operator=line.text("operator", ""),
            status=line.one_of("status", STATUSES),
            codes=line.texts("codes"),
            ratios=line.ratios(),
            checkers=line.checkers(),
            study=line.study(),
        )
        for line in _lines(path, "mutant")
    )
    _same_study(path, {row.study for row in rows})
    return tuple({(row.subject, row.id): row for row in rows}.values())


def _lines(path: Path, what: str) -> Iterator[_Line]:
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise KcbenchError("is not UTF-8 text", where=str(path)) from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _Line.of(line, f"line {number} is no {what} of a study", path)


def _same_study(path: Path, studies: set[Study]) -> None:
    if not studies:
        raise KcbenchError("is empty", where=str(path), fix="write it with kcbench redteam --json")
    # Parts of one may come from machines with different versions of torch: each line says which.
    if len({(study.seed, study.device) for study in studies}) > 1:
        raise KcbenchError("holds several studies", where=str(path), fix="give each a file of its own")


@dataclass(frozen=True)
class _Line:
    """One line, and how to complain about it."""

    data: Mapping[str, Any]
    what: str
    path: Path

    @classmethod
    def of(cls, text: str, what: str, path: Path) -> _Line:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise KcbenchError(f"{what}: it is not JSON", where=str(path)) from error
        if not isinstance(data, dict):
            raise KcbenchError(f"{what}: expected an object", where=str(path))
        return cls(data, what, path)

    def wrong(self, why: str) -> KcbenchError:
        return KcbenchError(f"{self.what}: {why}", where=str(self.path))

    def get(self, key: str, kind: type, name: str, default: Any) -> Any:
        value = self.data.get(key, default)
        if value is None:
            raise self.wrong(f"expected the key {key!r}")
        if not isinstance(value, kind):
            raise self.wrong(f"expected {name} for {key!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        return str(self.get(key, str, "text", default))

    def flag(self, key: str) -> bool:
        return bool(self.get(key, bool, "true or false", None))

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list, "a list of text", [])
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(f"expected a list of text for {key!r}")
        return tuple(values)

    def one_of(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in choices:
            raise self.wrong(f"expected {key!r} to be one of {', '.join(choices)}")
        return value

    def ratios(self) -> Ratios:
        by_gate = self.get("ratios", dict, "an object", {})
        if not all(isinstance(item, dict) and all(map(_is_ratio, item.values())) for item in by_gate.values()):
            raise self.wrong("expected 'ratios' to hold a finite number of at least 0 by gate and dtype")
        return {gate: {dtype: float(value) for dtype, value in item.items()} for gate, item in by_gate.items()}

    def checkers(self) -> Mapping[str, bool]:
        return dict.fromkeys(self.texts("accepted_by"), True) | dict.fromkeys(self.texts("refused_by"), False)

    def study(self) -> Study:
        found = self.get("study", dict, "an object", None)
        values = {name: found.get(name) for name in ("seed", "device", "torch")}
        if not all(isinstance(value, str) and value for value in values.values()):
            raise self.wrong(f"expected text for {', '.join(values)} in 'study'")
        return Study(**values)


def _is_ratio(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
