"""Committed: the constants' file with the figures that it rests on, as read and as rewritten by a calibration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kcbench import __version__
from kcbench.calibration.figures import Figures
from kcbench.calibration.fit import Fit
from kcbench.calibration.rows import Broken, Honest
from kcbench.domain.schema import load_json, validate
from kcbench.errors import KcbenchError
from kcbench.numerics.constants import PATH
from kcbench.report.proportion import Proportion


@dataclass(frozen=True)
class Draw:
    """Which kernels a study was made of."""

    seed: str
    count: int
    """How many; 0 before the first calibration."""
    language: str = ""
    """Of all of them; empty where there are several."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Draw:
        """As ``constants.schema.json`` says it."""
        return cls(data["seed"], data["count"], data["language"])


@dataclass(frozen=True)
class Committed:
    """What the constants' file says of the study behind it."""

    variants: Draw
    mutants: Draw
    alarms: Proportion
    """Proven honest kernels that were refused."""
    honest_worst: Mapping[tuple[str, str], float]
    """Largest ratio of an honest kernel by gate and dtype."""
    detection: Mapping[str, Proportion]
    """By fault class, and over all."""

    @classmethod
    def read(cls) -> Committed:
        """What the file says now.

        Raises:
            KcbenchError: It is missing or damaged.
        """
        data = load_json(PATH, "constants")
        variants, mutants = data["provenance"]["variants"], data["provenance"]["mutants"]
        worst = {(gate, dtype): ratio for gate, item in data["honest_worst"].items() for dtype, ratio in item.items()}
        detection = {fault: Proportion(item["refused"], item["witnessed"]) for fault, item in data["detection"].items()}
        alarms = Proportion(data["false_alarms"]["refused"], data["false_alarms"]["honest"])
        return cls(Draw.of(variants), Draw.of(mutants), alarms, worst, detection)


def renewed(figures: Figures, fits: Sequence[Fit], honest: Sequence[Honest], broken: Sequence[Broken]) -> str:
    """The text of the constants' file with the intervals, figures and provenance of a study; the values stay as they are.

    Raises:
        KcbenchError: The file is missing or damaged, or a study was not made on a CPU.
    """
    if (honest[0].study.device, broken[0].study.device) != ("cpu", "cpu"):
        raise KcbenchError("the studies were not both made on a CPU", fix="make them with --device cpu")
    data = load_json(PATH, "constants")
    data["provenance"] = {
        "date": datetime.now(UTC).date().isoformat(),
        "kcbench": __version__,
        "variants": _study(honest, figures.honest),
        "mutants": _study(broken, figures.broken),
    }
    for item in fits:
        data["constants"][item.constant]["interval"] = {"low": _short(item.low), "high": _short(item.high)}
    worst: dict[str, dict[str, float]] = {}
    for spread in figures.spreads:
        if spread.worst is not None:
            worst.setdefault(spread.gate, {})[spread.dtype] = spread.worst
    data["false_alarms"] = {"refused": figures.alarms.k, "honest": figures.alarms.n}
    data["honest_worst"] = worst
    data["detection"] = {item.fault: {"refused": item.whole.k, "witnessed": item.whole.n} for item in figures.detections}
    validate(data, "constants", source="the new constants")
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def _study(rows: Sequence[Honest] | Sequence[Broken], judged: int) -> dict[str, Any]:
    languages = {row.language for row in rows}
    language = languages.pop() if len(languages) == 1 else ""
    torch = list(dict.fromkeys(row.study.torch for row in rows))
    return {"seed": rows[0].study.seed, "count": len(rows), "language": language, "torch": torch, "judged": judged}


def _short(value: float | None) -> Any:
    return None if value is None else float(f"{value:.4g}")
