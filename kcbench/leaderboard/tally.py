"""Tally: the gap, gate and code counts of any number of submissions, as :func:`kcbench.report.gap.measure` has them.

A test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kcbench.domain import verdict as v
from kcbench.leaderboard.figures import Effect
from kcbench.leaderboard.judged import Judged
from kcbench.leaderboard.patterns import UNLOADABLE, Flags
from kcbench.numerics.statistics import mcnemar
from kcbench.report.catalog import BY_ID
from kcbench.report.gap import CodeCount, Gap, GateCount, Share, Table


@dataclass(frozen=True)
class Tally:
    """So many submissions of each pattern.

    Attributes:
        judged: The patterns.
        given: By pattern a number of submissions.
    """

    judged: Judged
    given: npt.NDArray[np.int64]

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """By pattern a number of submissions, without partial ones."""
        return np.where(self.judged.partial, 0, self.given)

    def total(self, flags: Flags) -> int:
        """How many submissions have a flag."""
        return int(self.counts[flags].sum())

    @property
    def partial(self) -> int:
        """Submissions that some gates were not asked about."""
        return int(self.given[self.judged.partial].sum())

    def gap(self, sizes: Sequence[str]) -> Gap:
        """The gap.

        Args:
            sizes: Sizes at which the legacy check ran.
        """
        judged, total = self.judged, self.total
        rejected = judged.counted & ~judged.accepted
        table = Table(
            total(judged.accepted & ~judged.refused),
            total(judged.accepted & judged.refused),
            total(rejected & ~judged.refused),
            total(rejected & judged.refused),
        )
        b, c = table.accepted_refused, table.rejected_clean
        quiet = total(judged.counted & judged.refused & judged.silent)
        return Gap(
            check=judged.legacy,
            sizes=tuple(sizes),
            without=judged.set_aside,
            results=int(self.counts.sum()),
            errors=total(judged.error),
            skipped=total(judged.skipped),
            unscored=total(judged.usable & ~judged.counted),
            table=table,
            rate=Share.of(b, table.accepted),
            p_value=mcnemar(b, c),
            one_sided=Share.of(b, b + c),
            floor=Share.of(total(judged.floor), table.total),
            accepted_floor=Share.of(total(judged.floor & judged.accepted), table.accepted),
            unloadable=total(judged.counted & (judged.patterns.status == UNLOADABLE)),
            silent=quiet,
            loud=table.refused - quiet,
            unjudged=total(judged.counted & judged.clean & (judged.passed == 0)),
            gates=self._gates(),
            codes=self._codes(),
        )

    def effects(self, names: Sequence[str]) -> tuple[Effect, ...]:
        """What gates, or codes, do to the gap.

        Args:
            names: Gates alone, or codes alone.
        """
        judged = self.judged
        accepted = np.where(judged.accepted, self.counts, 0)
        whole = int(accepted.sum())
        unloadable = int(accepted[judged.patterns.status == UNLOADABLE].sum())
        refused = int(accepted[judged.refused].sum())
        of_gates = bool(names) and "." not in names[0]
        pattern, item = judged.gate_pairs if of_gates else judged.code_pairs
        known = judged.patterns.gates if of_gates else judged.patterns.codes
        mine = np.bincount(item, accepted[pattern], len(known)).astype(np.int64)
        number = np.bincount(pattern, minlength=len(accepted))
        # Without it only those are accepted again that nothing else refuses.
        sole = np.bincount(item, np.where(number[pattern] == 1, accepted[pattern], 0), len(known)).astype(np.int64)
        places = {name: place for place, name in enumerate(known)}
        return tuple(
            Effect(name, Share.of(refused - int(sole[place]), whole), Share.of(unloadable + int(mine[place]), whole))
            for name in names
            if (place := places.get(name)) is not None
        )

    def _gates(self) -> tuple[GateCount, ...]:
        found = []
        answers = self.judged.answers
        for place, gate in enumerate(self.judged.patterns.gates):
            numbers = np.bincount(answers[:, place], self.counts, len(v.STATUSES) + 1).astype(np.int64)
            passed, failed, absent, invalid, error = (int(number) for number in numbers[1:])
            if gate in BY_ID or passed + failed + absent + invalid + error:
                found.append(GateCount(gate, passed, failed, absent, invalid, error, Share.of(failed, passed + failed)))
        return tuple(found)

    def _codes(self) -> tuple[CodeCount, ...]:
        judged, codes = self.judged, self.judged.patterns.codes
        pattern, code = judged.code_pairs
        weights = self.counts[pattern]
        parts = (weights, np.where(judged.accepted[pattern], weights, 0), np.where(judged.code_pairs_silent, weights, 0))
        numbers = [np.bincount(code, part, len(codes)).astype(np.int64) for part in parts]
        counted = [
            CodeCount(name, *(int(part[place]) for part in numbers)) for place, name in enumerate(codes) if numbers[0][place]
        ]
        return tuple(sorted(counted, key=lambda item: (-item.results, item.code)))
