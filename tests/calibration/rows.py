"""Hand-made rows of a study."""

from __future__ import annotations

from typing import Any

from kcbench.calibration.rows import Broken, Honest, Study

STUDY = {"seed": "7", "device": "cpu", "torch": "2.0"}


def honest(name: str = "level1/sum/torch-a", *, state: str = "clean", proven: bool = True, **ratios: dict[str, float]) -> Honest:
    """An honest kernel; gates are given without the dash, for example ``CMP01={"float32": 0.5}``."""
    return Honest(name, name.rpartition("/")[0], "torch", state, proven, named(ratios), {}, Study(**STUDY))


def broken(
    name: str = "a", *codes: str, fault: str = "precision", task: str = "level1/sum", status: str = "", **ratios: dict[str, float]
) -> Broken:
    """A witnessed fault, refused if there are codes."""
    status = status or ("refused" if codes else "survived")
    return Broken(f"{task}/model", "torch", name, fault, "", status, codes, named(ratios), {}, Study(**STUDY))


def named(ratios: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {f"{gate[:3]}-{gate[3:]}": item for gate, item in ratios.items()}


def variant_line(**more: Any) -> dict[str, Any]:
    """A line as the study of variants writes it."""
    return {
        "id": "level1/sum/torch-a",
        "task": "level1/sum",
        "language": "torch",
        "state": "clean",
        "proven": True,
        "ratios": {"CMP-01": {"float32": 0.4}},
        "study": STUDY,
        **more,
    }


def mutant_line(**more: Any) -> dict[str, Any]:
    """A line as the study of mutants writes it."""
    return {
        "subject": "level1/sum/model",
        "language": "torch",
        "id": "accumulator-1",
        "fault": "precision",
        "operator": "accumulator",
        "status": "refused",
        "codes": ["CMP-01.value"],
        "ratios": {"CMP-01": {"float32": 40.0}},
        "study": STUDY,
        **more,
    }
