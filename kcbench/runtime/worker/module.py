"""The submission's file: written, imported under a fresh name, and what to say when that fails."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from typing import Any

from . import build

MESSAGE = 2000
TRACE = 4000
_module_from_spec = importlib.util.module_from_spec
_spec_from_file = importlib.util.spec_from_file_location
_format = traceback.format_exception


class NoEntryError(Exception):
    """The file does not define the class that is to be scored."""


def load(source: str, name: str, entry: str) -> Any:
    """Import a submission from a real file in the working directory (Triton reads its source back) and return its entry class.

    Raises:
        BaseException: Whatever the import raises.
        NoEntryError: There is no such class.
    """
    path = os.path.join(os.getcwd(), f"{name}.py")
    with open(path, "wb") as file:
        file.write(source.encode("utf-8", "surrogateescape"))
    spec = _spec_from_file(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = _module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found = getattr(module, entry, None)
    if not callable(found):
        raise NoEntryError(f"the file defines no class {entry!r}")
    return found


def describe(error: BaseException) -> dict[str, str]:
    """An exception as type, message and trace, cut to a size that travels; a hostile ``__str__`` is survived."""
    kind = type(error)
    name = "AttributeError" if kind is NoEntryError else str(getattr(kind, "__name__", "Exception"))
    try:
        message = build.brief(str(error))
    except BaseException:
        message = "<the exception cannot be printed>"
    try:
        trace = "".join(_format(kind, error, error.__traceback__))
    except BaseException:
        trace = ""
    return {"type": name[:200], "message": message[:MESSAGE], "trace": trace[-TRACE:]}


def detail_of(error: BaseException) -> str:
    """One line that names an attempt to leave the process; empty for an ordinary exception."""
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)[:100]
        return f"called sys.exit({code})"
    return "raised KeyboardInterrupt" if isinstance(error, KeyboardInterrupt) else ""
