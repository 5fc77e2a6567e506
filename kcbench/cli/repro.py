"""``kcbench repro``: a script that shows a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcbench.cli.options import RunArgument, require_torch
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.domain.probe import Probe
    from kcbench.domain.result import Result
    from kcbench.domain.task import Task
    from kcbench.domain.verdict import Finding
    from kcbench.report.store import RunFolder


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

    check_writable(out)
    with RunFolder.open(run) as folder:
        result = folder.result(identifier)
        gate_id, finding = _finding(result, gate)
        text = _source(result, source, folder.header)
        require_torch()
        task = _task(result, folder)
        script = build_script(
            source=text,
            entry=str(result.submission["entry"]),
            finding=finding,
            calls=_calls(result, task, finding, folder.header),
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


def _source(result: Result, moved: Path | None, header: Mapping[str, Any]) -> str:
    """The submission's source text, if it still is what was scored."""
    from kcbench.suites.folder import parse_submission, read

    path = moved or Path(str(result.submission["path"]))
    field = header["options"].get("code_field")
    fix = "name the file that was scored with --source"
    if moved is None and field:
        found = parse_submission(_row_text(str(path), field), path=str(path), id=result.id, task=result.task)
    elif not path.is_file():
        raise KcbenchError("the submission is not there", where=str(path), fix=fix)
    else:
        found = read(path, identifier=result.id, known=[result.task], task=result.task)
    if found.digest != result.submission["digest"]:
        raise KcbenchError("the submission has changed since the run", where=str(path), fix=fix)
    return found.source


def _row_text(place: str, field: str) -> str:
    """The kernel in a row, from a place ``FILE:LINE``."""
    from kcbench.suites.rows import read_row

    file, _, number = place.rpartition(":")
    return read_row(Path(file), int(number), field)


def _task(result: Result, folder: RunFolder) -> Task:
    """The task of a result, as it was when it was scored."""
    from kcbench.cli.sources import open_source
    from kcbench.report.store import problem_name
    from kcbench.suites.folder import source_text
    from kcbench.tasks import load_task

    path = folder.path / problem_name(result.task)
    if not path.is_file():
        tasks = folder.header["options"].get("tasks")
        task = load_task(result.task, open_source(tasks).root if tasks else None)
    else:
        from kcbench.infer import task_of_problem

        code, problem = source_text(path)
        if problem:
            raise KcbenchError(problem, where=str(path))
        task = task_of_problem(code, task_id=result.task)
    if folder.header["tasks"].get(task.id) != task.digest:
        raise KcbenchError(f"the task {task.id} has changed since the run", where=result.id, fix="run kcbench eval again")
    return task


def _calls(result: Result, task: Task, finding: Finding, header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls that led to a finding, as a script makes them again."""
    from kcbench.oracle.draw import call_json
    from kcbench.oracle.oracle import TaskOracle

    seed = str(header["seed"])
    probes = _probes(result, task)
    oracle = TaskOracle(task, seed=seed)
    calls = []
    for name in finding.probes:
        probe = probes.get(name)
        if probe is None:
            raise KcbenchError("this kcbench plans other probes than the run", where=result.id, fix="run kcbench eval again")
        outputs = tuple(tuple(item.shape) for item in oracle.truth(probe)) if probe.gradient else ()
        calls.append(call_json(task.contract, probe, oracle.parameter_specs(probe), seed, outputs))
    return calls


def _probes(result: Result, task: Task) -> dict[str, Probe]:
    """All probes that were planned for a submission, by id: planning is a pure function of what the result records."""
    from kcbench.engine import plan_context
    from kcbench.gates import all_gates

    redraw = not {"packs-weights", "seeded-weights"} & set(result.labels)
    device = str(result.environment["device"])
    context = plan_context(task, device=device, interpreted="interpreted" in result.labels, redraw=redraw)
    return {probe.id: probe for gate in all_gates() for probe in gate.plan(context)}
