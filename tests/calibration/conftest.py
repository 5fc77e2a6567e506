"""What the tests of the calibration share."""

from __future__ import annotations

import pytest

from kcbench.calibration import fit


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a single fault count, so that a study can be written by hand."""
    monkeypatch.setattr(fit, "FEWEST", 1)
