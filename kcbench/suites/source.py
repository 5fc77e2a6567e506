"""What can be told of a submission's source text without running it: header, language, entry class, why it cannot be scored."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kcbench.syntax import parse_module

ENTRY = "ModelNew"
"""Name of the class that is scored unless the header names another one."""

MODEL = "Model"
"""Name of a problem's class; some published collections give it to kernels too."""

HEADER_KEYS = ("task", "author", "entry", "language", "packs-weights", "targets")
"""Header keys that kcbench reads; others are kept as they are."""

_HEADER = re.compile(r"#\s*kcbench:\s*(?P<key>[A-Za-z][\w-]*)\s*=\s*(?P<value>.*?)\s*")
_KERNEL_LANGUAGES = ("triton", "cuda")
_CUDA_NAMES = frozenset({"load_inline", "cpp_extension"})


@dataclass(frozen=True)
class Parsed:
    """What the source text says about itself."""

    header: Mapping[str, str] = field(default_factory=dict)
    entry: str = ENTRY
    language: str = "torch"
    """``triton``, ``cuda`` or ``torch``: of the kernels in the text, or of those it imports if the header says so."""
    problem: str = ""
    """The first reason why it cannot be scored, in one line; empty when there is none."""


def parse(source: str, *, published: bool = False) -> Parsed:
    """Read a submission's source text. Nothing in it is run.

    The header is the block of comments at the top: lines ``# kcbench: key=value`` with the keys :data:`HEADER_KEYS`.

    Args:
        source: The text.
        published: Read it as the harnesses of published collections do: the entry may be a function, the last of several
            definitions counts, and :data:`MODEL` is scored where the header names no entry and there is no :data:`ENTRY`.
    """
    header = dict(_header(source))
    entry = header.get("entry", ENTRY)
    if not source.strip():
        return Parsed(header, entry, problem="the file is empty")
    tree = _tree(source)
    if isinstance(tree, str):
        return Parsed(header, entry, problem=tree)
    if published and "entry" not in header and not _defines(tree, ENTRY) and _defines(tree, MODEL):
        entry = MODEL
    problem = _header_problem(header) or _entry_problem(tree, entry, published)
    language = _language(tree)
    # What the text itself contains decides; the header speaks of kernels that it imports.
    if language == "torch" and header.get("language") in _KERNEL_LANGUAGES:
        language = header["language"]
    return Parsed(header, entry, language, problem)


def repeats(source: str, original: str) -> bool:
    """Whether every statement of a text, imports aside, is one of the original's: comments, spacing and order do not matter.

    False where one of them cannot be parsed.
    """
    mine, theirs = _tree(source), _tree(original)
    if isinstance(mine, str) or isinstance(theirs, str):
        return False
    try:
        return _statements(mine) <= _statements(theirs)
    except RecursionError:  # A sum of a thousand terms can be parsed, and not be printed.
        return False


def missing_names(source: str, names: Iterable[str]) -> str:
    """Why a text does not define some names at its top level, in one line; empty where it defines all of them."""
    tree = _tree(source)
    if isinstance(tree, str):
        return tree
    missing = [name for name in names if not _defines(tree, name)]
    return f"it defines no {' and no '.join(missing)}" if missing else ""


def _tree(source: str) -> ast.Module | str:
    """The parsed text, or why it cannot be parsed, in one line."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return parse_module(source)
    except SyntaxError as error:
        return f"syntax error in line {error.lineno}: {error.msg}"
    except (RecursionError, MemoryError):
        return "syntax that is nested too deeply to be parsed"
    except ValueError as error:
        return f"cannot be parsed: {error}"


def _header(source: str) -> Iterator[tuple[str, str]]:
    for line in source.splitlines():
        if line.strip() and not line.startswith("#"):
            return
        match = _HEADER.fullmatch(line)
        if match:
            yield match["key"].lower(), match["value"]


def _header_problem(header: Mapping[str, str]) -> str:
    for key, value in header.items():
        close = difflib.get_close_matches(key, HEADER_KEYS, n=1, cutoff=0.8)
        if key not in HEADER_KEYS and close:
            return f"unknown header key '{key}' (did you mean '{close[0]}'?)"
        if key == "packs-weights" and value.lower() not in ("true", "false"):
            return f"header key 'packs-weights' is true or false, not {value!r}"
        if key == "language" and value not in _KERNEL_LANGUAGES:
            return f"header key 'language' is {' or '.join(_KERNEL_LANGUAGES)}, not {value!r}"
    return ""


def _entry_problem(tree: ast.Module, entry: str, published: bool) -> str:
    if published:
        return "" if _defines(tree, entry) else f"no class {entry}"
    lines = [node.lineno for node in _top_level(tree.body) if isinstance(node, ast.ClassDef) and node.name == entry]
    if len(lines) > 1:
        return f"{len(lines)} classes {entry}, in lines {' and '.join(map(str, lines))}: one is wanted"
    if lines or any(_assigns(node, entry) for node in _top_level(tree.body)):
        return ""
    return f"no class {entry}"


def _defines(tree: ast.Module, name: str) -> bool:
    """Whether a class, a function or an assignment at the top level gives the name a value."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return any((isinstance(node, kinds) and node.name == name) or _assigns(node, name) for node in _top_level(tree.body))


def _statements(tree: ast.Module) -> frozenset[str]:
    """The top-level statements but imports and free-standing strings, as text to compare, without docstrings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [item for item in body if not _is_text(item)]
    return frozenset(ast.dump(node) for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom)))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, also those below ``if``, ``try`` and ``with``."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.With, ast.Try, ast.TryStar)):
            for block in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(node, block, []))
            for handler in getattr(node, "handlers", []):
                yield from _top_level(handler.body)


def _assigns(node: ast.stmt, name: str) -> bool:
    """Whether a statement binds the name by assignment, as in ``ModelNew = torch.compile(...)``."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _language(tree: ast.Module) -> str:
    """``triton`` where a function is decorated with a jit of triton's, ``cuda`` where an extension is built, else ``torch``."""
    origins = dict(_imports(tree))
    decorators = (
        decorator.func if isinstance(decorator, ast.Call) else decorator
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for decorator in node.decorator_list
    )
    for decorator in decorators:
        parts = _resolve(decorator, origins).split(".")
        if parts[0] == "triton" and parts[-1] == "jit":
            return "triton"
    if any(_CUDA_NAMES & set(origin.split(".")) for origin in origins.values()):
        return "cuda"
    if any(_CUDA_NAMES & {getattr(node, "attr", None), getattr(node, "id", None)} for node in ast.walk(tree)):
        return "cuda"
    return "torch"


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Local names and the dotted names that they were imported as."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0], alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module or ''}.{alias.name}"


def _resolve(node: ast.expr, origins: Mapping[str, str]) -> str:
    """The dotted name that an expression such as ``tr.jit`` stands for; empty for anything else."""
    if isinstance(node, ast.Name):
        return origins.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        head = _resolve(node.value, origins)
        return f"{head}.{node.attr}" if head else ""
    return ""
