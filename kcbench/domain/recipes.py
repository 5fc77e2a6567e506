"""Fill recipes as data: which options each kind takes, and where a recipe can be seen to be wrong without drawing from it.

:mod:`kcbench.numerics.fills` turns recipes into tensors. It has the same table with its defaults, because its source text must
stand alone in reproduction scripts; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcbench.domain.probe import Recipe

KINDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    kind: (frozenset(required.split()), frozenset(optional.split()))
    for kind, required, optional in (
        ("normal", "", "mean std"),
        ("uniform", "", "low high"),
        ("positive", "", "low high"),
        ("log_decay", "", "low high"),
        ("lognormal", "", "sigma"),
        ("logistic", "", ""),
        ("constant", "value", ""),
        ("sparse", "", "density"),
        ("ramp", "", "low high jitter"),
        ("integers", "low high", ""),
        ("signs", "", ""),
        ("index", "high", ""),
        ("unit", "", "dim"),
        ("absorption", "dim", "magnitude"),
        ("cancellation", "dim", "magnitude"),
        ("fraction", "", "bits"),
        ("eye", "dims", "at"),
        ("alternating", "dim", ""),
        ("geometric", "dim", ""),
        ("subnormal", "", ""),
        ("away", "kinks", "margin"),
        ("poison", "base at", "value values"),
        ("permuted", "base dim perm", ""),
        ("problem", "", ""),
    )
}
"""Required and optional options by kind, beside ``gain`` and ``shift``, which all kinds but ``index`` take."""

COMMON = frozenset({"gain", "shift"})
POISONS = ("nan", "inf", "-inf", "max", "-max")

Complaint = tuple[str, str]
"""A JSON path and what is wrong there."""


def recipe_problems(recipe: Recipe, path: str, *, rank: int | None = None) -> Iterator[Complaint]:
    """What is wrong with a recipe that the contract schema accepts.

    Args:
        recipe: The recipe.
        path: Its JSON path, for messages.
        rank: Number of dimensions of the tensor that it fills, where known.
    """
    kind = recipe["kind"]
    required, optional = KINDS[kind]
    common = frozenset[str]() if kind == "index" else COMMON
    for name in sorted(required - recipe.keys()):
        yield path, f"expected the option '{name}' of the kind {kind}, found none"
    for name in sorted(recipe.keys() - required - optional - common - {"kind"}):
        known = ", ".join(sorted(required | optional | common)) or "none"
        yield f"{path}.{name}", f"expected an option of the kind {kind} ({known}), found '{name}'"
    if kind in ("uniform", "positive", "log_decay", "integers") and {"low", "high"} <= recipe.keys():
        low, high = recipe["low"], recipe["high"]
        if isinstance(high, str) or low > high:
            yield f"{path}.high", f"expected a number of at least low = {low}, found {high!r}"
    if kind == "constant" and isinstance(recipe.get("value"), str):
        yield f"{path}.value", f"expected a number, found {recipe['value']!r}"
    if kind == "poison":
        yield from _poison_problems(recipe, path, rank)
    for name in ("dim", "dims"):
        dims = recipe.get(name)
        for dim in dims if isinstance(dims, list) else [] if dims is None else [dims]:
            if rank is not None and not -rank <= dim < rank:
                yield f"{path}.{name}", f"expected a dimension of a tensor with {rank} of them, found {dim}"
    if "base" in recipe:
        yield from recipe_problems(recipe["base"], f"{path}.base", rank=rank)


def _poison_problems(recipe: Mapping[str, Any], path: str, rank: int | None) -> Iterator[Complaint]:
    at = recipe.get("at", [])
    if not isinstance(at, list):
        yield f"{path}.at", "expected a list of element indices, found an object"
        return
    if ("value" in recipe) == ("values" in recipe):
        yield path, "expected either 'value' or 'values', found " + ("both" if "value" in recipe else "none")
    elif "values" in recipe and len(recipe["values"]) != len(at):
        yield f"{path}.values", f"expected {len(at)} values, one for each position, found {len(recipe['values'])}"
    for value in recipe.get("values", [recipe.get("value")]):
        if isinstance(value, str) and value not in POISONS:
            yield path, f"expected a number or one of {', '.join(POISONS)}, found {value!r}"
    for number, position in enumerate(at):
        if rank is not None and len(position) != rank:
            yield f"{path}.at[{number}]", f"expected {rank} indices, found {len(position)}"
