"""Reproduction scripts: one Python file that shows a refusal again with plain torch, and without kcbench.

A script holds the submission's source, the source of :mod:`kcbench.numerics.fills` (so that recipes and keys give the same
bytes), the calls, the evidence, and one check. The check and what it needs are taken from :mod:`kcbench.report.repro_parts`, so
that a script has no line that it does not use.

Exit codes of a script: 1 and a line that begins with ``REPRODUCED:`` when the failure shows; 0 and ``not reproduced`` when it
does not; 2 and a line that begins with ``could not run:`` when it needs a GPU, Triton or torch that is not there.

Which check is made follows from ``Finding.evidence["kind"]``. What each reads, beside ``probe`` (the label of the call that shows
the failure) and ``output`` (an index, 0 if missing):

=====================  ====================================================================================================
kind                   reads
=====================  ====================================================================================================
value                  index, expected, tolerance
bits                   index, expected
class                  index, expected
gradient               gradient (``input:x`` or ``parameter:weight``), index, expected, tolerance
missing-gradient       gradients (names); without it, every tensor input
weights                two calls, before and after the update; index, expected, tolerance, or else equal bytes are the failure
weightless             nothing
stateful               index, expected, tolerance of a value that is wrong after the calls before it; or else the bytes
                       are compared with a fresh object's, and the first call's with the last one's where their inputs
                       are the same
repeat                 runs
pair                   two calls A and B; index, tolerance, and with ``order`` and ``order_dim`` A permuted by index_select first
alias-input            nothing (every input and parameter is looked at)
alias-output           nothing (a single call is made again with other inputs)
mutates, outside       nothing
raised                 nothing (made in a child process, so that crashes and hangs count)
dtype, device          expected
shape                  expected, or a message that says ``[2, 3] instead of [2, 4]``; ``gradient`` for the shape of a gradient
subclass               nothing
memory                 expected (bytes); needs a GPU, like the next two
host-copy, stream      nothing
resource               kernel, target, got, expected; the recorded figures are shown, and measured again on a GPU
=====================  ====================================================================================================
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kcbench.domain.verdict import Finding
from kcbench.errors import KcbenchError
from kcbench.report.explain import explain
from kcbench.report.journal import plain
from kcbench.report.text import one_line
from kcbench.syntax import parse_literal, parse_module

PARTS = tuple(Path(__file__).parent / "repro_parts" / f"{name}.py" for name in ("script", "results", "checks", "device_checks"))
"""In the order in which a script has them."""
FILLS = Path(__file__).parents[1] / "numerics" / "fills.py"
WIDTH = 120
_WRITTEN = frozenset({"ENTRY", "DEVICE", "EVIDENCE", "CALLS", "SUBMISSION", "FILLS", "PROBLEM"})
"""Constants that a script defines itself."""
_GIVEN, _DRAWN = 'draw_given(spec, variant) if "given" in spec else draw(spec, variant)', "draw(spec, variant)"
"""How a script draws an input, with and without inputs that the problem's own ``get_inputs`` makes."""
_MAY_KEEP_STATE = frozenset({"value", "bits", "class", "pair", "stateful"})
"""Kinds that are looked for a second time after other calls: in the run, many calls came before the one that is named."""


def kinds() -> tuple[str, ...]:
    """The kinds of evidence that scripts can be made for."""
    return tuple(name.removeprefix("check_").replace("_", "-") for name in _parts() if name.startswith("check_"))


def build_script(
    *,
    source: str,
    entry: str,
    finding: Finding,
    calls: Sequence[Mapping[str, Any]],
    interpret: bool,
    title: str,
    gate: str = "",
    device: str | None = None,
    problem: str = "",
) -> str:
    """A standalone script that shows a finding again.

    Args:
        source: Source text of the submission.
        entry: Its entry class.
        finding: What is to be shown.
        calls: The calls in the order in which they ran, as JSON-ready data: ``probe`` (:meth:`Probe.to_json`), ``init``,
            ``inputs``, ``parameters``, ``model_dtype``, ``seed`` and ``cotangents``. May be empty for the kind ``resource``.
        interpret: The run used Triton's interpreter.
        title: First line of the script, for example ``PRC-02.accumulator of broken/fp16_accumulator on level1/matmul``.
        gate: The gate's id, for the explanation; taken from the title where it is missing.
        device: ``cpu`` or ``cuda``, where the run was made; None chooses the CPU for interpreted runs, and a GPU for others where
            there is one.
        problem: Source text of the problem. It is embedded where its ``get_inputs`` makes an input of a call, and only there.

    Raises:
        KcbenchError: The evidence has no kind, or none that a script can be made for, or there are no calls, or an input comes
            from the problem and its source is missing.
    """
    kind = str(finding.evidence.get("kind", ""))
    check = f"check_{kind.replace('-', '_')}"
    if check not in _parts():
        what = f"there is no reproduction for evidence of kind {kind!r}" if kind else "the finding's evidence has no kind"
        raise KcbenchError(what, where=one_line(title), fix=f"known kinds: {', '.join(kinds())}")
    if not calls and kind != "resource":
        raise KcbenchError("the finding names no call to make again", where=one_line(title))
    gate = gate or (match.group() if (match := re.search(r"\b(GUARD|[A-Z]{3}-\d\d)\b", title)) else "")
    place = device or ("cpu" if interpret else None)
    given = any("given" in spec for call in calls for spec in call["inputs"])
    if given and not problem:
        raise KcbenchError("an input is made by the problem, whose source is missing", where=one_line(title))
    parts = _parts() if given else {name: part.replace(_GIVEN, _DRAWN) for name, part in _parts().items()}
    names = _needed(parts, "main", check, *(["after_other_calls"] if kind in _MAY_KEEP_STATE else []))
    made_by = "# --- embedded: the problem, whose get_inputs makes the inputs that no recipe can"
    blocks = [
        _head(title, gate, finding),
        _imports(names, interpret),
        _constants(entry, finding, calls, place),
        *(parts[name] for name in names),
        "# --- embedded: the submission as it was scored",
        f"SUBMISSION = {literal(source)}",
        "# --- embedded: kcbench/numerics/fills.py, which turns recipes and keys into tensors",
        f"FILLS = {literal(FILLS.read_text('utf-8'))}",
        *([made_by, f"PROBLEM = {literal(problem)}"] if given else []),
        f'if __name__ == "__main__":\n    sys.exit(main({f"after_other_calls({check})" if kind in _MAY_KEEP_STATE else check}))',
    ]
    head, imports, constants, *rest = (block.strip("\n") for block in blocks)
    return "\n\n".join((head, imports, constants)) + "\n\n\n" + "\n\n\n".join(rest) + "\n"


def _head(title: str, gate: str, finding: Finding) -> str:
    told = explain(gate, finding)
    words = [
        one_line(title),
        "",
        *textwrap.wrap(told.text, WIDTH),
        "",
        "Run it with 'python <this file>'. It needs torch, and nothing of kcbench.",
    ]
    words.append("Exit code 1 and REPRODUCED: the failure shows. 0: it does not. 2: it cannot run here.")
    text = "\n".join(words).replace("\\", "\\\\").replace('"""', "'''")
    return f'#!/usr/bin/env python3\n"""{text}\n"""'


def _constants(entry: str, finding: Finding, calls: Sequence[Mapping[str, Any]], device: str | None) -> str:
    on_gpu = "torch.cuda.is_available()" if device is None else '"--cuda" in sys.argv'
    lines = [
        f"ENTRY = {entry!a}",
        'DEVICE = "cuda"' if device == "cuda" else f'DEVICE = "cuda" if {on_gpu} else "cpu"',
        f"EVIDENCE = {_python(plain(finding.evidence))}",
        "# The calls, in order: inputs and parameters are recipes, drawn by FILLS below.",
        f"CALLS = {_python(plain(list(calls)))}",
    ]
    return "\n".join(lines)


def _imports(names: Iterable[str], interpret: bool) -> str:
    """The import statements that the parts need; the interpreter is switched on before torch is imported."""
    used = {name for part in names for name in _uses(_parts()[part])} | {"sys", "torch"}
    modules: dict[str, set[str]] = {"os": set()} if interpret else {}
    standard: list[str] = []
    others: list[str] = []
    for node in _import_statements():
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        wanted = [alias for alias in node.names if (alias.asname or alias.name).split(".")[0] in used]
        if not wanted or module == "__future__" or module.startswith("kcbench."):
            continue
        found = modules.setdefault(module or wanted[0].name, set())
        found |= {alias.name for alias in wanted} if module else set()
    for module, names_of in modules.items():
        line = f"from {module} import {', '.join(sorted(names_of))}" if names_of else f"import {module}"
        (others if module.split(".")[0] == "torch" else standard).append(line)
    standard.sort(key=lambda line: (line.startswith("from"), line))
    switch = (
        ['if "--cuda" not in sys.argv:', '    os.environ["TRITON_INTERPRET"] = "1"  # as in the run: no GPU is needed']
        if interpret
        else []
    )
    return "\n".join(["from __future__ import annotations", "", *standard, "", *switch, *([""] if switch else []), *others])


@functools.cache
def _import_statements() -> tuple[ast.Import | ast.ImportFrom, ...]:
    nodes = (node for path in PARTS for node in _tree(path.read_text("utf-8")).body)
    return tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))


@functools.cache
def _parts() -> dict[str, str]:
    """Source text of every top-level definition of the parts, by name, in order."""
    found: dict[str, str] = {}
    for path in PARTS:
        found |= _definitions(path.read_text("utf-8"))
    return {name: part for name, part in found.items() if name not in _WRITTEN}


def _definitions(text: str) -> dict[str, str]:
    lines = text.splitlines()
    found: dict[str, str] = {}
    body = _tree(text).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            start = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            found[node.name] = "\n".join(lines[start - 1 : node.end_lineno])
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            end = after.end_lineno if documented and after is not None else node.end_lineno
            found[ast.unparse(target)] = "\n".join(lines[node.lineno - 1 : end])
    return found


@functools.cache
def _uses(part: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(_tree(part)) if isinstance(node, ast.Name))


def _tree(text: str) -> ast.Module:
    return parse_module(text)


def _needed(parts: Mapping[str, str], *wanted: str) -> tuple[str, ...]:
    """Names of some parts and of all that they use, directly or not, in the order of the file."""
    todo, seen = list(wanted), set[str]()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += _uses(parts[name]) & parts.keys()
    return tuple(name for name in parts if name in seen)


def _python(value: Any, indent: int = 0) -> str:
    """JSON-ready data as an ASCII Python literal: on one line where it fits, or else one item a line."""
    whole = ascii(value)
    if len(whole) + indent <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return whole
    inner = " " * (indent + 4)
    if isinstance(value, dict):
        items = [f"{key!a}: {_python(item, indent + 4)}" for key, item in value.items()]
    elif any(isinstance(item, (dict, list)) for item in value):
        items = [_python(item, indent + 4) for item in value]
    else:
        items = textwrap.wrap(whole[1:-1], WIDTH - indent - 4, break_long_words=False, break_on_hyphens=False)
        return "[\n" + "".join(f"{inner}{line}\n" for line in items) + " " * indent + "]"
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + "".join(f"{inner}{item},\n" for item in items) + " " * indent + closing


def literal(text: str) -> str:
    """Text as a Python string literal that reads like the text: raw where that is exact, or else line by line."""
    for quotes in ("'''", '"""'):
        if quotes not in text and _is_literal(f"r{quotes}{text}{quotes}", text):
            return f"r{quotes}{text}{quotes}"
    lines = "".join(f"    {line!a}\n" for line in text.splitlines(keepends=True))
    return f"(\n{lines})" if lines else "''"


def _is_literal(code: str, text: str) -> bool:
    try:
        code.encode("utf-8")
        return bool(parse_literal(code) == text)
    except (SyntaxError, ValueError):
        return False
