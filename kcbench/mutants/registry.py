"""The mutation operators: every module of :mod:`kcbench.mutants.operators` adds its own."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from kcbench.mutants import operators
from kcbench.mutants.operator import Operator


@functools.cache
def all_operators() -> tuple[Operator, ...]:
    """All operators, by module and in the order in which a module lists them."""
    names = sorted(module.name for module in pkgutil.iter_modules(operators.__path__))
    modules = [importlib.import_module(f"{operators.__name__}.{name}") for name in names]
    return tuple(operator for module in modules for operator in module.OPERATORS)


def fault_classes() -> tuple[str, ...]:
    """The fault classes that there are operators for."""
    return tuple(dict.fromkeys(operator.fault for operator in all_operators()))
