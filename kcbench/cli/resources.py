"""``kcbench resources``: do compiled kernels fit a target, and if not, why?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcbench.cli.exits import REFUSED

if TYPE_CHECKING:
    from kcbench.resources.kernel import Budget, Kernel


def resources(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="PTX, a cubin, SASS text, metadata of a Triton kernel, or Triton's cache folder.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Targets such as sm_100,sm_90; if not given, what each was compiled for."),
    ] = None,
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Only the kernels whose name holds this.")] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1024, help="Threads per block, for code that does not say.")
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=32, help="Blocks that must own Tensor Memory on a multiprocessor at once."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, on stdout.")] = False,
) -> None:
    """Say what compiled kernels use, and whether that fits a target.

    Registers, spills, shared memory, threads, cluster, and the plan of Tensor Memory along every way through the code. Nothing is
    run. Exits with 1 if a kernel is refused.
    """
    from kcbench.errors import KcbenchError
    from kcbench.resources.kernel import hold
    from kcbench.resources.limits import LIMITS, known_target
    from kcbench.resources.read import read_kernels

    named = list(dict.fromkeys(known_target(item) for item in target.split(",") if item.strip())) if target is not None else []
    if target is not None and not named:
        raise KcbenchError("names no target", where="--target", fix=f"known: {', '.join(LIMITS)}")
    found: list[Kernel] = [item for path in paths for item in read_kernels(path, threads=threads or 0)]
    if kernel is not None:
        names = sorted({item.name for item in found})
        found = [item for item in found if kernel in item.name]
        if not found:
            raise KcbenchError(f"no kernel has {kernel!r} in its name", where="--kernel", fix=f"there are {', '.join(names[:8])}")
    budgets = []
    for item in found:
        for name in named or [known_target(item.target) if item.target else _unnamed(item)]:
            budgets.append(hold(item, name, LIMITS[name], wanted=blocks or 0))
    _print(budgets, as_json=as_json)
    if any(budget.problems for budget in budgets):
        raise typer.Exit(REFUSED)


def _unnamed(kernel: Kernel) -> str:
    from kcbench.errors import KcbenchError

    raise KcbenchError(f"does not say what {kernel.name} was compiled for", where=kernel.where, fix="name one with --target")


def _print(budgets: Sequence[Budget], *, as_json: bool) -> None:
    if as_json:
        from kcbench.cli.output import STDOUT, write_json

        write_json(STDOUT, {"format": 1, "budgets": [budget.to_json() for budget in budgets]})
        return
    for budget in budgets:
        for line in _lines(budget):
            print(line)


def _lines(budget: Budget) -> list[str]:
    from kcbench.report.text import one_line

    kernel, figures = budget.kernel, budget.kernel.figures
    lines = [f"{one_line(kernel.name, limit=200)} for {budget.target}: {'refused' if budget.problems else 'fits'}"]
    used = [
        f"{figures.registers} registers" if figures.registers else "",
        f"{figures.spills} bytes spilled" if figures.registers else "",
        f"{figures.shared} bytes of shared memory",
        f"{figures.threads} threads" if figures.threads else "",
        f"cluster of {figures.cluster}" if figures.cluster > 1 else "",
        f"{kernel.columns} Tensor Memory columns" if kernel.columns else "",
    ]
    lines.append("  uses    " + ", ".join(filter(None, used)))
    bounds = ", ".join(f"{count} by {name}" for name, count in budget.residents.items() if name != "blocks")
    if bounds:
        lines.append(f"  fit on a multiprocessor: {bounds}")
    if kernel.plan:
        for item in kernel.plan.allocations:
            columns = f"{item.columns} columns" if item.columns else "columns"
            source = f" (from {one_line(item.source)})" if item.source else ""
            lines.append(f"  line {item.line}: allocates {columns}{source}")
        if kernel.plan.frees:
            lines.append(f"  freed at line {', '.join(map(str, kernel.plan.frees[:8]))}")
    if kernel.tiles and budget.problems:
        lines.append(f"  tiles planned in Tensor Memory, {kernel.tiled} columns if all were live at once:")
        for tile in kernel.tiles:
            shape = "x".join(map(str, tile.shape))
            lines.append(f"    {one_line(tile.name)}: {shape} {tile.dtype}, {tile.columns} columns, {one_line(tile.source)}")
    lines += [f"  {problem.code}: {one_line(problem.text)}" for problem in budget.problems]
    return lines + [f"  note: {one_line(note)}" for note in budget.notes]
