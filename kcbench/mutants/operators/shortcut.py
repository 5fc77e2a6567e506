"""Shortcut: work that is skipped where the values, or the number of rows, seem to allow it."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.mutants.operator import Operator
from kcbench.mutants.wrapping import Case, wrapping

FAULT = "shortcut"


def _cases() -> Iterator[Case]:
    for limit in (1e-2, 1e-4, 1e-8):
        yield (
            f"inputs that are all below {limit:g} count as zero",
            f"x = $x\nif x.numel() and bool(x.abs().max() < {limit}):\n    $x = torch.zeros_like(x)\nreturn $result",
        )
        yield (
            f"elements of the first argument below {limit:g} count as zero",
            f"x = $x\nif x.is_floating_point():\n    $x = torch.where(x.abs() < {limit}, torch.zeros_like(x), x)\nreturn $result",
        )
        yield (
            f"results below {limit:g} count as zero",
            f"out = $result\nreturn torch.where(out.abs() < {limit}, torch.zeros_like(out), out)",
        )
    for limit in (4.0, 100.0, 1e4):
        yield (
            f"elements of the first argument are cut at {limit:g}",
            f"x = $x\nif x.is_floating_point():\n    $x = x.clamp(-{limit}, {limit})\nreturn $result",
        )
        yield f"the result is cut at {limit:g}", f"return ($result).clamp(-{limit}, {limit})"
    for count in (1, 4, 16):
        yield (
            f"only the first {count} rows are computed, the others are zero",
            f"out = $result\nreturn torch.cat((out[:{count}], 0 * out[{count}:])) if out.dim() else out",
        )
        yield (
            f"rows from {count} on repeat the one before",
            f"out = $result\nif not out.dim() or len(out) <= {count}:\n    return out\n"
            f"return torch.cat((out[:{count}], out[{count} - 1 : {count}].expand_as(out[{count}:])))",
        )
    yield (
        "the first argument is taken for positive",
        "x = $x\nif x.is_floating_point():\n    $x = x.abs()\nreturn $result",
    )
    yield (
        "the first argument is taken to lie between 0 and 1",
        "x = $x\nif x.is_floating_point():\n    $x = x.clamp(0.0, 1.0)\nreturn $result",
    )
    yield (
        "an input without sign changes is answered with its mean",
        "x = $x\nif x.is_floating_point() and x.numel() and bool((x > 0).all()):\n    $x = x.mean().expand_as(x)\nreturn $result",
    )
    yield (
        "a constant input is answered with zeros",
        "out = $result\nx = $x\nreturn 0 * out if x.numel() > 1 and bool((x == x.flatten()[0]).all()) else out",
    )
    yield (
        "integers are answered with zeros",
        "out = $result\nx = $x\nwhole = x.is_floating_point() and bool((x == x.round()).all()) and bool(x.any())\n"
        "return 0 * out if whole else out",
    )
    yield (
        "the result of sixteen columns stands for all",
        "x = $x\nif x.dim() > 1 and x.is_floating_point() and x.shape[-1] > 16:\n"
        "    $x = torch.cat((x[..., :16], x[..., :1].expand_as(x[..., 16:])), -1)\nreturn $result",
    )
    yield (
        "equal rows are not told apart",
        "out = $result\nif not out.dim() or len(out) < 3:\n    return out\nreturn torch.cat((out[:-1], out[-2:-1]))",
    )


OPERATORS = (Operator("shortcut", FAULT, wrapping(tuple(_cases()))),)
