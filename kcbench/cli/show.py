"""``kcbench show``: why a submission was refused."""

from __future__ import annotations

from typing import Annotated

import typer

from kcbench.cli.options import RunArgument


def show(
    run: RunArgument,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="Id of a submission in that run.", show_default=False)],
) -> None:
    """Explain why a submission was refused.

    Says for each refusal what was asked, what came, and how to see it again.
    """
    from kcbench.report.explain import explain_result, headline
    from kcbench.report.html import repro_command
    from kcbench.report.store import RunFolder
    from kcbench.report.text import one_line

    with RunFolder.open(run) as folder:
        result = folder.result(identifier)
    print(f"{one_line(result.id)} on {one_line(result.task)}")
    print(headline(result))
    for score in result.legacy:
        says = "accepts" if score.compiled and score.correct else "rejects"
        why = f": {one_line(score.reason, limit=200)}" if score.reason else ""
        print(f"{one_line(score.check)} {says} it {one_line(score.trials)}{why}")
    for item in explain_result(result):
        print(f"\n{item.code} ({item.title}, {'silent' if item.silent else 'loud'})")
        print(f"  {item.asked} {item.did}")
        for name, value in item.facts:
            print(f"    {name}: {value}")
        print(f"  See it again: {repro_command(str(run), result.id, item.gate)}")
    for verdict in result.verdicts:
        if verdict.reason:
            print(f"\n{verdict.gate} {verdict.status}: {one_line(verdict.reason, limit=300)}")
