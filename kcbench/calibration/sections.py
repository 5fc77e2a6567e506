"""Sections: the figures and the fit as tables with a few words each, for the terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcbench.calibration.figures import Figures
from kcbench.calibration.fit import FEWEST, HONEST_MARGIN, LOST, Fit, Trial
from kcbench.calibration.gate_set import KEPT
from kcbench.calibration.rows import DIED
from kcbench.report.text import count, number, percent


@dataclass(frozen=True)
class Section:
    """A table with a title, and what has to be known to read it."""

    title: str
    words: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    """How many columns hold text; the others hold numbers."""


def sections(figures: Figures, fits: Sequence[Fit], trials: Sequence[Trial]) -> tuple[Section, ...]:
    """All sections, in the order of a page; those without rows are left out."""
    made = (
        _fits(figures, fits),
        _trials(trials),
        _spreads(figures),
        _alarms(figures),
        _detections(figures),
        _halves(figures),
        _by_gate(figures),
        _uses(figures),
        _cheapest(figures),
        *_comparisons(figures),
    )
    return tuple(section for section in made if section.rows)


def _value(value: float | None) -> str:
    return "-" if value is None else number(value, 3)


def _fits(figures: Figures, fits: Sequence[Fit]) -> Section:
    words = (
        f"Low is {HONEST_MARGIN:g} times what the worst honest kernel needs. High is where some gate would lose {LOST:g} % of "
        f"the faults that it sees by such a bound in some dtype, if there are at least {FEWEST} of them; other gates may see "
        "them still. The loosest value is the largest power of the square root of two in between; exceptions from the line (all "
        "but kappa) are no larger than honest kernels need. A ratio covers all checks of a gate, also those with another grant, "
        f"so that intervals are too narrow rather than too wide. Each constant is moved alone. {_first_only(figures)}"
    ).rstrip()
    rows = tuple(
        (item.constant, *map(_value, (item.value, item.worst, item.least, item.low, item.high, item.loosest)), str(item))
        for item in fits
    )
    head = ("constant", "value", "honest worst ratio", "1 % of faults below", "low", "high", "loosest", "finding")
    return Section("Constants", words, head, rows)


def _trials(trials: Sequence[Trial]) -> Section:
    words = (
        "The loosest value, fitted on one half of the tasks, on the kernels of the other half: how many honest ones it would "
        "refuse, and how many of the faults that only this bound sees it would let through."
    )
    rows = tuple((item.constant, _value(item.value), str(item.alarms), str(item.missed)) for item in trials)
    return Section("Fitted on one half, tried on the other", words, ("constant", "value", "false alarms", "missed"), rows)


def _spreads(figures: Figures) -> Section:
    words = (
        "Error over tolerance by gate and dtype; 1 is the line. Broken are the faults that the gate refuses by a finite error in "
        "that dtype; those whose error is below the line are seen elsewhere, or not at all."
    )
    rows = tuple(
        (
            item.gate,
            item.dtype,
            str(len(item.honest)),
            _value(item.honest_p99),
            _value(item.worst),
            str(len(item.broken)),
            _value(item.least),
            _value(item.broken_p1),
        )
        for item in figures.spreads
    )
    head = ("gate", "dtype", "honest", "99th percentile", "worst", "broken", "least", "1st percentile")
    return Section("Honest noise and broken error", words, head, rows, left=2)


def _alarms(figures: Figures) -> Section:
    words = "Proven honest kernels that are refused, with the 95 % interval of Clopper and Pearson."
    names = ", ".join(figures.refused) or "none"
    head = ("honest", "refused", "share", "not proven, left out", "kcbench failed, left out", "which")
    row = (str(figures.honest), str(figures.alarms.k), str(figures.alarms), str(figures.unproven), str(figures.failed), names)
    return Section("False alarms", words, head, (row,), left=0)


def _detections(figures: Figures) -> Section:
    words = "Faults with a witness that are refused, by fault class; on all tasks, and on each half of them."
    rows = tuple(
        (item.fault, str(item.whole.n), str(item.whole.k), str(item.whole), str(item.in_sample), str(item.held_out))
        for item in figures.detections
    )
    return Section("Detection", words, ("fault class", "witnessed", "refused", "all tasks", "in sample", "held out"), rows)


def _halves(figures: Figures) -> Section:
    words = "The halves: every second name in the order of its SHA-256 is held out."
    rows = tuple(
        (item.name, ", ".join(item.members), str(item.detection), str(item.alarms), _value(item.worst)) for item in figures.halves
    )
    return Section("Halves", words, ("half", "members", "detection", "false alarms", "honest worst ratio"), rows, left=2)


def _by_gate(figures: Figures) -> Section:
    gates = tuple(item.gate for item in figures.uses)
    rows = tuple(
        (item.fault, str(item.whole.n), *(str(item.by_gate.get(gate, 0)) for gate in gates)) for item in figures.detections
    )
    died = "Those that died ended their process, or did not come back. " if DIED in gates else ""
    words = f"Faults of a class that each gate refuses. {died}{_first_only(figures)}".rstrip()
    return Section("Which gate sees what", words, ("fault class", "witnessed", *gates), rows)


def _uses(figures: Figures) -> Section:
    words = (
        "Faults that each gate refuses, and those that no other gate does; a gate without any of the latter is redundant on "
        f"these faults. {_first_only(figures)}"
    ).rstrip()
    rows = tuple((item.gate, str(item.refused), str(item.alone), "" if item.alone else "redundant") for item in figures.uses)
    return Section("What each gate adds", words, ("gate", "refused", "alone", ""), rows)


def _cheapest(figures: Figures) -> Section:
    chosen = figures.cheapest
    words = (
        f"Gates in the order in which a greedy search takes them, until {percent(KEPT)} of the {count(chosen.faults, 'fault')} "
        f"that all gates find are found. Chosen on one half of the tasks, such a set keeps {figures.cheapest_held_out} on the "
        f"other. {_first_only(figures)}"
    ).rstrip()
    return Section("The fewest gates that would do", words, ("gate", "more", "kept"), tuple(_steps(figures)))


def _first_only(figures: Figures) -> str:
    """A warning where no fault was refused by two gates: then nobody asked the second one."""
    if any(item.refused > item.alone for item in figures.uses):
        return ""
    return "The gates were asked in turn until one refused: a fault counts for the first that did, whichever others can see it."


def _steps(figures: Figures) -> Iterator[tuple[str, ...]]:
    kept, chosen = 0, figures.cheapest
    for gate, more in zip(chosen.gates, chosen.found, strict=True):
        kept += more
        yield gate, str(more), percent(kept / chosen.faults)


def _comparisons(figures: Figures) -> Iterator[Section]:
    words = "kcbench beside other published checks, on the same kernels."
    rows = tuple(
        (item.checker, str(item.alarms), str(item.kcbench_alarms), str(item.detection), str(item.kcbench_detection))
        for item in figures.comparisons
    )
    head = ("check", "its false alarms", "kcbench's", "its detection", "kcbench's")
    yield Section("Other checks", words, head, rows)
    words = "Faults that one of the two refuses and the other accepts, with McNemar's exact p-value."
    disagreements = tuple(
        (item.checker, str(item.only_kcbench), str(item.only_checker), f"{item.p_value:.2g}") for item in figures.comparisons
    )
    yield Section("Where they disagree", words, ("check", "only kcbench refuses", "only it refuses", "p"), disagreements)
