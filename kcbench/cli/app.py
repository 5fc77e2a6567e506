"""``kcbench``: the commands, and what happens when one of them fails."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kcbench import __version__
from kcbench.cli import (
    calibrate,
    contract,
    draft,
    evaluate,
    hub,
    hub_remote,
    infer,
    leaderboard,
    redteam,
    report,
    repro,
    resources,
    show,
    tasks,
)
from kcbench.cli.exits import BAD_INPUT, BROKEN_PIPE, BUG, INTERRUPTED
from kcbench.errors import KcbenchError
from kcbench.report.text import one_line


def _group(text: str) -> typer.Typer:
    # Plain help and errors: rendering them with rich would double the time to start.
    names = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(
        help=text, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True, context_settings=names
    )


app = _group("Judge machine-written GPU kernels by contract: twelve gates against a float64 reference, beside today's check.")
_tasks = _group("The tasks that kernels can be scored on.")
_contract = _group("The contract files of tasks.")
_hub = _group("Tasks and results as datasets, and the Hugging Face Hub.")

app.command("eval")(evaluate.evaluate)
app.command("redteam")(redteam.redteam)
app.command("calibrate")(calibrate.calibrate)
app.add_typer(_tasks, name="tasks")
app.add_typer(_contract, name="contract")
app.add_typer(_hub, name="hub")
app.command("report")(report.report)
app.command("show")(show.show)
app.command("repro")(repro.repro)
app.command("resources")(resources.resources)
app.command("leaderboard")(leaderboard.leaderboard)
_tasks.command("list")(tasks.print_tasks)
_tasks.command("show")(tasks.show_task)
_contract.command("validate")(contract.validate)
_contract.command("infer")(infer.infer)
_contract.command("draft")(draft.draft)
_contract.command("prove")(draft.prove)
_hub.command("build")(hub.build)
_hub.command("export")(hub.export)
_hub.command("push")(hub_remote.push)
_hub.command("push-results")(hub_remote.push_results)
_hub.command("pull")(hub_remote.pull)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kcbench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options of kcbench itself; they act on their own."""


def main() -> None:
    """Run the command line: one line on stderr and a telling exit code for whatever goes wrong.

    With ``KCBENCH_DEBUG=1`` in the environment, tracebacks are shown.
    """
    try:
        if sys.argv[1:] == ["tasks", "list"]:
            tasks.print_tasks()  # Nothing to parse: typer would load pydantic for it (0.29 does), and take twice as long.
        else:
            app(prog_name="kcbench")
    except KcbenchError as error:
        _fail(f"error: {one_line(error)}", BAD_INPUT)
    except BrokenPipeError:
        # The reader, such as head, has seen enough. Python would complain once more when it flushes stdout at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BROKEN_PIPE)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)
    except Exception as error:
        what = one_line(f"{type(error).__name__}: {error}", limit=400)
        _fail(f"internal error: {what} (this is a bug in kcbench; KCBENCH_DEBUG=1 shows the traceback)", BUG)


def _fail(line: str, code: int) -> None:
    if os.environ.get("KCBENCH_DEBUG", "0") not in ("", "0"):
        import traceback

        traceback.print_exc()
    print(line, file=sys.stderr)
    sys.exit(code)
