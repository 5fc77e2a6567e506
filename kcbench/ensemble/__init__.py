"""An ensemble of honest implementations: what the gates must let through.

Summation orders, online forms, equivalent formulas, library algorithms, layouts, chunk sizes and handwritten backward passes are
combined into complete submissions. :mod:`kcbench.ensemble.proof` shows of each that it is honest, without asking a gate.
"""

from __future__ import annotations

from kcbench.ensemble.catalog import all_variants, study_tasks, variants
from kcbench.ensemble.variant import TORCH, TRITON, Variant

__all__ = ["TORCH", "TRITON", "Variant", "all_variants", "study_tasks", "variants"]
