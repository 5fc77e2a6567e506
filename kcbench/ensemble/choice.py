"""Choice: some variants of the ensemble, in equal shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kcbench.ensemble.catalog import all_variants, variants
from kcbench.ensemble.variant import Variant
from kcbench.study import shares


def fitting(task: str | None = None, *, only: str = "", language: str = "") -> list[Variant]:
    """All variants, or some.

    Args:
        task: Id of the task to take; None for all.
        only: Text that the id of a variant must hold. A whole id stands for that variant alone, though others may begin with it.
        language: ``torch`` or ``triton``, for kernels in one language.

    Raises:
        KcbenchError: There is no variant of the task.
    """
    found = all_variants() if task is None else variants(task)
    chosen = [variant for variant in found if only in variant.id and language in ("", variant.language)]
    return [variant for variant in chosen if variant.id == only] or chosen


def shared_out(found: Sequence[Variant], limit: int, seed: str) -> Iterator[Variant]:
    """Draw some of many variants: one of each language in turn, and within a language one of each task in turn.

    Args:
        found: What to draw from.
        limit: How many.
        seed: Of the draw.
    """
    yield from shares.shared_out(found, limit, f"{seed}/variants", kind=lambda variant: (variant.language, variant.task))
