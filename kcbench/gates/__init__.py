"""The twelve gates and the guard: one module each, found by name.

A module in this package whose name looks like ``cmp01`` and that defines ``GATE`` is a gate; adding a file adds a gate.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re

from kcbench.gates.base import Gate, JudgeContext, Oracle, PlanContext

__all__ = ["Gate", "JudgeContext", "Oracle", "PlanContext", "all_gates", "gate_ids"]

_FAMILIES = {"guard": 0, "cmp": 1, "ord": 2, "prc": 3, "exc": 4, "res": 5}
_NAME = re.compile(r"^(guard|(cmp|ord|prc|exc|res)\d\d)$")


def gate_ids() -> tuple[str, ...]:
    """Ids in report order, ``GUARD`` first; costs no import of the gates' dependencies."""
    return tuple(_gate_id(name) for name in _module_names())


@functools.cache
def all_gates() -> tuple[Gate, ...]:
    """The gates in report order, ``GUARD`` first."""
    return tuple(importlib.import_module(f"{__name__}.{name}").GATE for name in _module_names())


def _module_names() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(__path__) if _NAME.match(module.name)]
    return sorted(names, key=lambda name: (_FAMILIES[re.sub(r"\d", "", name)], name))


def _gate_id(name: str) -> str:
    return "GUARD" if name == "guard" else f"{name[:3].upper()}-{name[3:]}"
