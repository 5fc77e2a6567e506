"""``kcbench repro``: a script that shows a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcbench.cli.options import RunArgument, require_torch
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.domain.result import Result
    from kcbench.domain.verdict import Finding


def repro(
    run: RunArgument,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="Id of a submission in that run.", show_default=False)],
    gate: Annotated[str, typer.Argument(metavar="GATE", help="What refused it, EXC-01 or EXC-01.absorbed.", show_default=False)],
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="The submission, where it has moved.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to; RUN/repro/<id>-<gate>.py if not given.")] = None,
) -> None:
    """Write a script that shows a refusal.

    The script stands alone: it needs torch, not kcbench.
    """
    from kcbench.cli.output import check_writable, write_text
    from kcbench.report.repro import build_script
    from kcbench.report.store import RunFolder, repro_name
    from kcbench.suites.scored import scored_source

    check_writable(out)
    with RunFolder.open(run) as folder:
        result = folder.result(identifier)
        gate_id, finding = _finding(result, gate)
        text = scored_source(result, folder.header, moved=source)
        require_torch()
        from kcbench.engine.replay import Replay

        replay = Replay(folder, _root(folder.header))
        task = replay.task(result)
        script = build_script(
            source=text,
            entry=str(result.submission["entry"]),
            finding=finding,
            calls=replay.calls(result, finding),
            interpret="interpreted" in result.labels,
            title=f"{gate_id}.{finding.code} of {result.id} on {result.task}",
            gate=gate_id,
            device=str(result.environment["device"]),
            problem=task.code,
        )
        if out is None:
            path = folder.write(repro_name(result.id, gate), script)
        else:
            path = out
            write_text(path, script)
    print(f"{path}\nRun it with: python {path}")


def _finding(result: Result, gate: str) -> tuple[str, Finding]:
    """The finding that GATE or GATE.code names, with the gate's id."""
    gate_id, _, code = gate.partition(".")
    gate_id = gate_id.upper()
    verdict = result.verdict(gate_id)
    for finding in verdict.findings if verdict is not None else ():
        if code in ("", finding.code):
            return gate_id, finding
    if not result.codes:
        raise KcbenchError("no gate refused it, so there is nothing to reproduce", where=result.id)
    raise KcbenchError(f"{gate} did not refuse it", where=result.id, fix=f"what did: {', '.join(result.codes)}")


def _root(header: Mapping[str, Any]) -> Path | None:
    """Folder with the tasks of a run; None for those that came with kcbench."""
    from kcbench.cli.sources import open_source

    tasks = header["options"].get("tasks")
    return open_source(tasks).root if tasks else None
