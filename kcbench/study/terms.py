"""Terms: what the outcome of a study's jobs depends on beside the job."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version

from kcbench import __version__


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Every line of a log says them, so that studies are not mixed up."""

    seed: str
    device: str
    checkers: bool
    """The other published checkers are asked, too."""
    kcbench: str = __version__
    torch: str = field(default_factory=lambda: version("torch"))
