"""The free constants of the gates, from the file that the calibration writes. No torch."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from pathlib import Path

from kcbench.domain.schema import load_json

PATH = Path(__file__).with_name("constants.json")
"""The constants with their intervals and provenance, as ``constants.schema.json`` describes them."""


@dataclass(frozen=True)
class Constants:
    """What is not derived from task, inputs and precision. One set for all tasks, dtypes and kernels."""

    kappa: float
    """Largest z of an honest kernel: its error beyond the last store, in standard deviations of the allowed rounding."""
    eager_factor: float
    """How much further than eager's own worst element, in units of the bound, an honest kernel may be off."""
    coherent: float
    """What multiplies the bound where many inputs are equal: equal terms are rounded alike, so that errors add up."""
    any_order: float
    """What multiplies the bound of sums that cancel, where there is no closed form for any order of summation."""
    transform_slack: float
    """What a legal transform may move an exact result by, as a share of its magnitude."""


@functools.cache
def constants() -> Constants:
    """The constants that kcbench judges with.

    Raises:
        KcbenchError: The file is missing or damaged.
    """
    data = load_json(PATH, "constants")["constants"]
    return Constants(**{field.name: float(data[field.name]["value"]) for field in fields(Constants)})
