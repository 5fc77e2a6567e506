"""Judged: patterns under a choice of gates, codes and legacy check, by the rules of :func:`kcbench.report.gap.measure`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kcbench.domain import verdict as v
from kcbench.domain.verdict import Finding, Verdict
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.patterns import FAILED, SCORED, SKIPPED, UNLOADABLE, Bits, Flags, Patterns
from kcbench.report.catalog import BY_ID

Pairs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Judged:
    """Patterns, and what they come to. Every flag has one entry for each pattern."""

    patterns: Patterns
    legacy: str
    only: tuple[str, ...]
    """The gates whose findings count; empty for all."""
    without: tuple[str, ...]
    """Gates and codes whose findings do not count."""

    @classmethod
    def of(cls, patterns: Patterns, filters: Filters) -> Judged:
        key = filters.legacy, filters.gates, filters.without
        judged: Judged = patterns.judged.get(key, lambda: cls(patterns, *key))
        return judged

    @cached_property
    def set_aside(self) -> tuple[str, ...]:
        """Gates and codes whose findings do not count, all of them by name."""
        others = [gate for gate in self.patterns.gates if gate not in self.only] if self.only else []
        return tuple(dict.fromkeys((*others, *self.without)))

    @cached_property
    def _keep(self) -> tuple[np.uint64, np.uint64]:
        low, high = self.patterns.code_bits(self.set_aside)
        return ~low, ~high

    @cached_property
    def codes(self) -> tuple[Bits, Bits]:
        """Codes that count."""
        return _and(self.patterns.found(), self._keep)

    @cached_property
    def silent(self) -> Flags:
        """A code that counts was found without notice."""
        low, high = _and(self.patterns.found(silent=True), self._keep)
        return _flags((low | high) != 0)

    @cached_property
    def _kept_pairs(self) -> Flags:
        low, high = self._keep
        bits = int(low) | int(high) << 64
        kept = np.array([bits >> place & 1 for place in range(len(self.patterns.codes))], np.bool_)
        return kept[self.patterns.pairs[1]]

    @cached_property
    def code_pairs(self) -> Pairs:
        """Each pattern with each of its codes that count: places of both."""
        pattern, code, _ = self.patterns.pairs
        return pattern[self._kept_pairs], code[self._kept_pairs]

    @cached_property
    def code_pairs_silent(self) -> Flags:
        """Which of those were found without notice."""
        return _flags(self.patterns.pairs[2][self._kept_pairs])

    @cached_property
    def failed(self) -> Bits:
        """Gates with a code that counts."""
        places = {gate: place for place, gate in enumerate(self.patterns.gates)}
        owner = np.array([1 << places[name.partition(".")[0]] for name in self.patterns.codes], np.uint64)
        pattern, code = self.code_pairs
        bits = np.zeros(len(self.patterns), np.uint64)
        np.bitwise_or.at(bits, pattern, owner[code])
        return bits

    @cached_property
    def gate_pairs(self) -> Pairs:
        """Each pattern with each gate that refuses it: places of both."""
        bits = np.arange(len(self.patterns.gates), dtype=np.uint64)
        pattern, gate = np.nonzero(self.failed[:, None] >> bits & np.uint64(1))
        return pattern, gate

    @cached_property
    def passed(self) -> Bits:
        """Gates that passed, also because other checks did than those that are set aside."""
        whole = self.patterns.gate_bits(self.set_aside)
        relieved = self.patterns.gave(v.FAIL) & ~self.failed
        return self.patterns.gave(v.PASS) | (relieved & self.patterns.gave("others") & ~whole)

    @cached_property
    def not_applicable(self) -> Bits:
        return self.patterns.gave(v.NOT_APPLICABLE) | (self.patterns.gave(v.FAIL) & ~self.failed & ~self.passed)

    @cached_property
    def answers(self) -> npt.NDArray[np.uint8]:
        """By pattern and gate 0 where the gate was not asked, and else the place in :data:`v.STATUSES`, plus 1."""
        gave = (
            self.passed,
            self.failed,
            self.not_applicable,
            self.patterns.gave(v.REFERENCE_INVALID),
            self.patterns.gave(v.ERROR),
        )
        bits = np.arange(len(self.patterns.gates), dtype=np.uint64)
        found = np.zeros((len(self.patterns), len(bits)), np.uint8)
        for place, given in enumerate(gave, 1):
            found += (given[:, None] >> bits & np.uint64(1)).astype(np.uint8) * np.uint8(place)
        return np.asfortranarray(found)

    @cached_property
    def refused(self) -> Flags:
        low, high = self.codes
        return _flags((self.patterns.status == UNLOADABLE) | ((low | high) != 0))

    @cached_property
    def error(self) -> Flags:
        """The harness failed, as a whole or in one gate."""
        return _flags((self.patterns.status == FAILED) | ((self.patterns.gave(v.ERROR) != 0) & ~self.skipped))

    @cached_property
    def skipped(self) -> Flags:
        return _flags(self.patterns.status == SKIPPED)

    @cached_property
    def partial(self) -> Flags:
        """A gate of those that count was not asked; nothing else keeps it from being counted."""
        needed = self.patterns.gate_bits(self.only or BY_ID)
        return _flags((self.patterns.status == SCORED) & ((self.patterns.asked & needed) != needed) & ~self.error)

    @cached_property
    def usable(self) -> Flags:
        return ~self.skipped & ~self.error & ~self.partial

    @cached_property
    def clean(self) -> Flags:
        return _flags(self.usable & (self.patterns.status == SCORED) & ~self.refused)

    @cached_property
    def counted(self) -> Flags:
        """The legacy check has scored it, too."""
        return _flags(self.usable & (self.patterns.legacy(self.legacy) >= 0))

    @cached_property
    def accepted(self) -> Flags:
        return _flags(self.counted & (self.patterns.legacy(self.legacy) == 1))

    @cached_property
    def floor(self) -> Flags:
        """Refused by a finding that no tolerance could be argued with, and counted."""
        return self.counted & _any(self.codes, self.patterns.beyond_argument)

    @cached_property
    def outcomes(self) -> npt.NDArray[np.int8]:
        """Places in :data:`kcbench.leaderboard.figures.OUTCOMES`."""
        status = self.patterns.status
        rules = [self.partial, status == SKIPPED, status == FAILED, status == UNLOADABLE, self.refused, self.error]
        return np.select(rules, [3, 4, 5, 2, 1, 5], 0).astype(np.int8)

    def verdicts(self, pattern: int) -> tuple[Verdict, ...]:
        """The answers of one pattern: of findings the code, and whether one with it is silent."""
        parts = (self.codes, self.patterns.found(silent=True))
        codes, silent = (int(low[pattern]) | int(high[pattern]) << 64 for low, high in parts)
        named = [(bit, code.partition(".")) for bit, code in enumerate(self.patterns.codes) if codes >> bit & 1]
        found = []
        for bit, gate in enumerate(self.patterns.gates):
            status = next((answer for answer in v.STATUSES if int(self.patterns.gave(answer)[pattern]) >> bit & 1), None)
            mine = tuple(Finding(code, "", bool(silent >> place & 1)) for place, (owner, _, code) in named if owner == gate)
            if status is not None:
                found.append(Verdict(gate, status, mine))
        return tuple(found)

    def names(self, pattern: int) -> list[str]:
        """The codes of one pattern that count, in the order of their gates."""
        bits = int(self.codes[0][pattern]) | int(self.codes[1][pattern]) << 64
        found = [code for place, code in enumerate(self.patterns.codes) if bits >> place & 1]
        order = {gate: place for place, gate in enumerate(self.patterns.gates)}
        return sorted(found, key=lambda code: order.get(code.partition(".")[0], len(order)))


def _and(codes: tuple[Bits, Bits], bits: tuple[np.uint64, np.uint64]) -> tuple[Bits, Bits]:
    return codes[0] & bits[0], codes[1] & bits[1]


def _any(codes: tuple[Bits, Bits], bits: tuple[np.uint64, np.uint64]) -> Flags:
    low, high = _and(codes, bits)
    return _flags((low | high) != 0)


def _flags(values: npt.ArrayLike) -> Flags:
    return np.asarray(values, np.bool_)
