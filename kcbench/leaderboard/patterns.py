"""Patterns: what gates and legacy checks can say about a submission, each distinct answer once, as bits that are counted fast.

A million submissions have some thousands of patterns. Whatever a choice of gates and codes changes is worked out for the
patterns, and looked up for the submissions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from kcbench.domain import verdict as v
from kcbench.leaderboard.filters import LEGACY_CHECKS
from kcbench.leaderboard.kept import Kept
from kcbench.report.catalog import GATES, TOLERANCE_FREE
from kcbench.report.sentences import SENTENCES

Bits = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

SCORED, UNLOADABLE, SKIPPED, FAILED = range(4)
"""Statuses of a submission, in the order of :data:`STATUSES`."""
STATUSES = ("scored", "unloadable", "skipped", "error")
MOST_GATES, MOST_CODES = 32, 128
"""How many the bits have room for."""
MOST_JUDGED = 4
"""Choices of gates and codes that are kept; one of a million submissions takes some megabytes."""
COLUMNS = ("status", *LEGACY_CHECKS, *v.STATUSES, "others", "codes_0", "codes_1", "silent_0", "silent_1")
_GATE = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*", re.ASCII)
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)


class UnreadablePattern(ValueError):
    """A pattern that makes no sense, or has no room."""


@dataclass(frozen=True)
class Patterns:
    """Distinct patterns, one entry each in every array."""

    gates: tuple[str, ...]
    """Names of the gates' bits: the catalogue's, in its order, and then unknown ones."""
    codes: tuple[str, ...]
    """Names of the codes' bits, as ``GATE.code``."""
    table: pl.DataFrame
    """:data:`COLUMNS`: the status; 1 or 0 for each legacy check, -1 where it was not asked; for each answer the gates that gave
    it; the failed gates of which other checks passed; codes and silent codes, 64 a column."""

    @functools.cached_property
    def judged(self) -> Kept:
        """What the patterns come to by gates, codes and legacy check: filters of other kinds share it."""
        return Kept(MOST_JUDGED)

    @functools.cached_property
    def status(self) -> npt.NDArray[np.int8]:
        return self.table["status"].to_numpy()

    def legacy(self, check: str) -> npt.NDArray[np.int8]:
        """1 where a legacy check accepts, 0 where not, -1 where it was not asked."""
        return self.table[check].to_numpy()

    def gave(self, answer: str) -> Bits:
        """Gates that gave an answer, or ``others``."""
        return self.table[answer].to_numpy()

    @functools.cached_property
    def asked(self) -> Bits:
        """Gates that gave any answer."""
        return np.asarray(np.bitwise_or.reduce([self.gave(answer) for answer in v.STATUSES]))

    def found(self, *, silent: bool = False) -> tuple[Bits, Bits]:
        """Codes that were found."""
        name = "silent" if silent else "codes"
        return self.table[f"{name}_0"].to_numpy(), self.table[f"{name}_1"].to_numpy()

    @functools.cached_property
    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Flags]:
        """Each pattern with each of its codes: the places of both, and whether the code was found without notice."""
        parts = []
        for half, (found, silent) in enumerate(zip(self.found(), self.found(silent=True), strict=True)):
            some = np.flatnonzero(found)
            bits = np.arange(64, dtype=np.uint64)
            row, bit = np.nonzero(found[some, None] >> bits & np.uint64(1))
            quiet = (silent[some[row]] >> bit.astype(np.uint64) & np.uint64(1)) != 0
            parts.append((some[row], bit + 64 * half, quiet))
        pattern, code, quiet = (np.concatenate(part) for part in zip(*parts, strict=True))
        return pattern, code, np.asarray(quiet, np.bool_)

    def gate_bits(self, gates: Iterable[str]) -> np.uint64:
        """Bits of some gates; those that nobody answered have none."""
        wanted = set(gates)
        return np.uint64(sum(1 << bit for bit, gate in enumerate(self.gates) if gate in wanted))

    def code_bits(self, names: Iterable[str]) -> tuple[np.uint64, np.uint64]:
        """Bits of some codes, and of all codes of some gates."""
        wanted = set(names)
        bits = sum(1 << bit for bit, code in enumerate(self.codes) if code in wanted or code.partition(".")[0] in wanted)
        return np.uint64(bits & (2**64 - 1)), np.uint64(bits >> 64)

    @functools.cached_property
    def beyond_argument(self) -> tuple[np.uint64, np.uint64]:
        """Codes of which :mod:`kcbench.report.gap` says that no tolerance could be argued with."""
        return self.code_bits(
            code
            for code in self.codes
            if code.partition(".")[0] in TOLERANCE_FREE and code != "GUARD.unfinished" and not code.endswith(".crash")
        )

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def parse(cls, texts: Sequence[str]) -> tuple[Patterns, list[int | None], list[str]]:
        """Read patterns as :mod:`kcbench.leaderboard.aggregate` writes them.

        Args:
            texts: Distinct texts.

        Returns:
            The patterns; for each text which of them it is, or None where it makes no sense; what was wrong, without repeats.
        """
        parser = _Parser()
        places: dict[tuple[int, ...], int] = {}
        which: list[int | None] = []
        faults: dict[str, None] = {}
        for text in texts:
            try:
                which.append(places.setdefault(parser.parse(text), len(places)))
            except UnreadablePattern as error:
                which.append(None)
                faults[str(error)] = None
        columns = list(zip(*places, strict=True)) or [()] * len(COLUMNS)
        kinds = [pl.Int8] * (1 + len(LEGACY_CHECKS)) + [pl.UInt64] * (len(COLUMNS) - 1 - len(LEGACY_CHECKS))
        data = [pl.Series(name, column, dtype=kind) for name, column, kind in zip(COLUMNS, columns, kinds, strict=True)]
        return cls(tuple(parser.gates), tuple(parser.codes), pl.DataFrame(data)), which, list(faults)


class _Parser:
    def __init__(self) -> None:
        self.gates = {gate.id: bit for bit, gate in enumerate(GATES)}
        self.codes = {code: bit for bit, code in enumerate(SENTENCES)}

    def parse(self, text: str) -> tuple[int, ...]:
        """The entries of :data:`COLUMNS`."""
        status, *legacy, answers = text.split("|", 1 + len(LEGACY_CHECKS))
        if status not in STATUSES:
            raise UnreadablePattern(f"status {status[:40]!r}")
        gates = dict.fromkeys(v.STATUSES, 0)
        codes = silent = others = seen = 0
        for answer in answers.split(";") if answers else ():
            gate, _, rest = answer.partition(":")
            said, _, told = rest.partition(":")
            bit = 1 << self._bit(self.gates, gate, gate, _GATE, MOST_GATES, "gate")
            if said not in gates:
                raise UnreadablePattern(f"answer {said[:40]!r} of a gate")
            if seen & bit:
                raise UnreadablePattern(f"two answers of {gate[:40]}")
            seen |= bit
            gates[said] |= bit
            if said == v.FAIL:
                found, quiet, rest = [*told.split(":"), "", ""][:3]
                mine = self._codes(gate, found)
                codes |= mine
                silent |= self._codes(gate, quiet) & mine if quiet else 0
                others |= bit if rest == "1" else 0
        low = 2**64 - 1
        known = [int(item) if item in ("0", "1") else -1 for item in legacy]
        bits = (codes & low, codes >> 64, silent & low, silent >> 64)
        return (STATUSES.index(status), *known, *gates.values(), others, *bits)

    def _codes(self, gate: str, text: str) -> int:
        found = 0
        for code in text.split(","):
            name = code.removeprefix(f"{gate}.")
            found |= 1 << self._bit(self.codes, f"{gate}.{name}", name, _CODE, MOST_CODES, "code")
        return found

    def _bit(self, known: dict[str, int], name: str, part: str, form: re.Pattern[str], most: int, what: str) -> int:
        bit = known.get(name)
        if bit is None:
            if len(name) > 64 or not form.fullmatch(part):
                raise UnreadablePattern(f"{what} {name[:40]!r}")
            if len(known) >= most:
                raise UnreadablePattern(f"{what} {name[:40]!r}, one unknown {what} too many")
            bit = known[name] = len(known)
        return bit
