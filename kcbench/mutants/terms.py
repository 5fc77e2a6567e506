"""Terms: what the outcome of a mutant depends on beside the mutant."""

from __future__ import annotations

from dataclasses import dataclass

from kcbench.study.terms import Terms


@dataclass(frozen=True, kw_only=True)
class MutantTerms(Terms):
    """Those of a study of mutants."""

    equivalents: bool
    """The gates are asked about mutants without a witness, too."""
    every_gate: bool
    """All gates are asked about each, and not only until one refuses it."""
