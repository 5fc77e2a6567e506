"""Checking data against the JSON Schema files of ``schemas/``, and saying in one line what is wrong and where.

Schemas settle the form. What they cannot express (does this axis exist?) is asked by :mod:`kcbench.domain.check`, so that
:func:`validate` and :func:`load_json` accept a contract only if it also makes sense.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcbench.errors import KcbenchError
from kcbench.paths import data_root

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

SCHEMAS = (
    *("contract", "task", "submission", "verdict", "result", "run", "report", "constants"),
    *("dataset", "task_row", "reference_row", "result_row", "submission_row"),
)

_LONGEST = 80
"""Longest value shown in a message, in characters."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a piece of data."""

    path: str
    """JSON path of the offending value, for example ``$.axes.dim.gate``."""
    message: str
    """What was expected there and what was found."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def validate(data: Any, schema: str, *, source: str) -> None:
    """Check data against a schema.

    Args:
        data: JSON-ready data; tuples count as arrays.
        schema: One of :data:`SCHEMAS`.
        source: Where the data came from, for the message: a file, or what it is.

    Raises:
        KcbenchError: The data are not valid. The message names the source, the JSON path, what was expected and what was found.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_validator(schema).iter_errors(data))
    problem = _problem(error) if error is not None else next(_senseless(data, schema), None)
    if problem is not None:
        raise KcbenchError(str(problem), where=source)


def problems(data: Any, schema: str) -> list[Problem]:
    """Everything that is wrong with the data, in the order of the paths; empty where they are valid.

    Questions of sense are asked only of data that have the right form.
    """
    found = [_problem(error) for error in _validator(schema).iter_errors(data)]
    return sorted(set(found), key=str) or list(_senseless(data, schema))


def load_json(path: Path, schema: str) -> Any:
    """Read a JSON file and check it against a schema.

    Raises:
        KcbenchError: The file cannot be read, is not JSON, or is not valid.
    """
    data = read_json(path)
    validate(data, schema, source=str(path))
    return data


def read_json(path: Path) -> Any:
    """Read a JSON file strictly: UTF-8, no NaN, no repeated keys.

    Raises:
        KcbenchError: The file cannot be read or is not JSON.
    """
    where = str(path)
    try:
        return json.loads(path.read_bytes().decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror or error}", where=where) from error
    except UnicodeDecodeError as error:
        found = f"the byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise KcbenchError(f"expected UTF-8 text, found {found}", where=where) from error
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:]
        raise KcbenchError(f"line {error.lineno}, column {error.colno}: not JSON: {what}", where=where) from error
    except ValueError as error:
        raise KcbenchError(f"not JSON: {error}", where=where) from error
    except RecursionError as error:
        raise KcbenchError("not JSON that can be read: it is nested too deeply", where=where) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} appears twice in one object")
    return data


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


@functools.cache
def _validator(schema: str) -> Validator:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    if schema not in SCHEMAS:
        raise ValueError(f"no schema {schema!r}")
    folder = data_root() / "schemas"

    def read(uri: str) -> Resource[Any]:
        return Resource.from_contents(_read_schema(folder / uri), default_specification=DRAFT202012)

    # Dataclasses hold tuples, which become arrays as soon as they are written.
    types = Draft202012Validator.TYPE_CHECKER.redefine("array", lambda _checker, value: isinstance(value, (list, tuple)))
    kind: Any = extend(Draft202012Validator, type_checker=types)
    registry: Any = Registry(retrieve=read)  # type: ignore[call-arg]
    validator: Validator = kind({"$ref": f"{schema}.schema.json"}, registry=registry)
    return validator


def _read_schema(path: Path) -> Any:
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KcbenchError(f"a schema of kcbench cannot be read: {error}", where=str(path), fix="reinstall kcbench") from error
    del schema["$schema"]  # It would make jsonschema go on with its own class of validator, to which a tuple is no array.
    return schema


def _senseless(data: Any, schema: str) -> Iterator[Problem]:
    """What is wrong with data of the right form."""
    from kcbench.domain.check import contract_problems

    if schema == "contract":
        yield from (Problem(f"${path}", message) for path, message in contract_problems(data))
    elif schema == "task":
        yield from (Problem(f"$.contract{path}", message) for path, message in contract_problems(data["contract"]))


def _problem(error: ValidationError) -> Problem:
    say = _MESSAGES.get(str(error.validator), _fallback)
    return Problem(_one_line(error.json_path), _one_line(say(error)))


def _one_line(text: str) -> str:
    """The text with everything that could break the line, or hide in it, written as an escape: keys come from the file."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _names(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _guess(name: Any, known: Any) -> str:
    close = difflib.get_close_matches(str(name), [str(item) for item in known], n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


_TYPES = {
    "object": "an object",
    "array": "an array",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def _type(error: ValidationError) -> str:
    wanted = error.validator_value
    kinds = [wanted] if isinstance(wanted, str) else wanted
    return f"expected {' or '.join(_TYPES[kind] for kind in kinds)}, found {_show(error.instance)}"


def _required(error: ValidationError) -> str:
    missing = next(name for name in error.validator_value if error.message.startswith(repr(name)))
    return f"expected the key '{missing}', found " + (f"only {_names(error.instance)}" if error.instance else "an empty object")


def _additional(error: ValidationError) -> str:
    schema = error.schema
    assert isinstance(schema, Mapping)
    known = list(schema.get("properties", {}))
    unknown = [name for name in error.instance if name not in known]
    return f"expected only keys that the format has, found {_names(unknown)}" + _guess(unknown[0], known)


def _enum(error: ValidationError) -> str:
    choices = error.validator_value
    return f"expected one of {', '.join(map(str, choices))}, found {_show(error.instance)}" + _guess(error.instance, choices)


def _pattern(error: ValidationError) -> str:
    schema = error.schema
    assert isinstance(schema, Mapping)
    wanted = str(schema.get("description", "")).rstrip(".")
    return f"expected text that matches {error.validator_value}{f' ({wanted})' if wanted else ''}, found {_show(error.instance)}"


def _bound(words: str) -> Callable[[ValidationError], str]:
    return lambda error: f"expected {words.format(error.validator_value)}, found {_show(error.instance)}"


def _fallback(error: ValidationError) -> str:
    message = str(error.message)
    return message if len(message) <= 2 * _LONGEST else message[: 2 * _LONGEST - 1] + "…"


_MESSAGES: Mapping[str, Callable[[ValidationError], str]] = {
    "type": _type,
    "required": _required,
    "additionalProperties": _additional,
    "enum": _enum,
    "pattern": _pattern,
    "const": lambda error: f"expected {_show(error.validator_value)}, found {_show(error.instance)}",
    "minimum": _bound("a number of at least {}"),
    "maximum": _bound("a number of at most {}"),
    "exclusiveMinimum": _bound("a number above {}"),
    "minLength": _bound("text of at least {} character(s)"),
    "minItems": _bound("at least {} item(s)"),
    "maxItems": _bound("at most {} item(s)"),
    "minProperties": _bound("at least {} key(s)"),
    "maxProperties": _bound("at most {} key(s)"),
    "uniqueItems": _bound("items that differ from each other"),
}
