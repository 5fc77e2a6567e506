"""Reads what Triton leaves in its cache: one folder per compiled kernel, with metadata, intermediate code, PTX and cubin."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcbench.errors import KcbenchError
from kcbench.resources.kernel import Tile

_TILE = re.compile(
    r"%(?P<name>[\w$.#]+)\s*=\s*ttng\.tmem_alloc\b.*!ttg\.memdesc<(?P<type>[\dx]+x[a-z]\w*)[,>]"
    r".*?(?:loc\((?P<loc>#loc\d*)\))?\s*$"
)
_LOCATION = re.compile(r"^(?P<name>#loc\d*) = loc\((?P<text>.*)\)\s*$", re.MULTILINE)
_PLACE = re.compile(r"\"(?P<file>[^\"]*)\":(?P<line>\d+):\d+")
_LINKED = re.compile(r"#loc\d*")
_BITS = re.compile(r"\D*(\d+)")


def metadata_files(folder: Path) -> list[Path]:
    """The kernels' metadata below a folder."""
    found = []
    for path in sorted(folder.rglob("*.json")):
        if not path.name.startswith("__grp__") and is_metadata(_load(path)):
            found.append(path)
    return found


def _load(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def is_metadata(data: object) -> bool:
    """Whether JSON data is what Triton says of a kernel."""
    return isinstance(data, dict) and isinstance(data.get("target"), dict) and isinstance(data.get("num_warps"), int)


def read_metadata(path: Path) -> dict[str, Any]:
    """A kernel's metadata.

    Raises:
        KcbenchError: The file is something else.
    """
    data = _load(path)
    if not isinstance(data, dict) or not is_metadata(data):
        raise KcbenchError(
            "is no metadata of a Triton kernel", where=str(path), fix="give the .json of a kernel in Triton's cache"
        )
    return data


def target_of(metadata: Mapping[str, Any]) -> str:
    """``sm_100``, or empty for another vendor's device."""
    target = metadata["target"]
    arch = target.get("arch")
    return f"sm_{arch}" if target.get("backend") == "cuda" and isinstance(arch, int) else ""


def tiles(text: str) -> list[Tile]:
    """The tiles that Triton's GPU code keeps in Tensor Memory, in the order of their columns, most first.

    They do not all live at once: what lies where is settled later, when that code is lowered.
    """
    locations = {match["name"]: match["text"] for match in _LOCATION.finditer(text)}
    found = []
    for line in text.splitlines():
        match = _TILE.search(line)
        if match:
            *sizes, dtype = match["type"].split("x")
            shape = tuple(int(size) for size in sizes if size)
            found.append(Tile(match["name"], shape, dtype, _columns(shape, dtype), _source(match["loc"] or "", locations)))
    return sorted(found, key=lambda tile: -tile.columns)


def _columns(shape: tuple[int, ...], dtype: str) -> int:
    """Columns of a tile: rows lie along 128 lanes, columns take 32 bits, or less if packed (PTX ISA, Tensor Memory)."""
    bits = _BITS.match(dtype)
    if len(shape) < 2 or bits is None:
        return 0
    rows, width = shape[-2:]
    return math.prod(shape[:-2]) * -(-rows // 128) * -(-width * int(bits[1]) // 32)


def _source(name: str, locations: Mapping[str, str]) -> str:
    seen = set()
    while name in locations and name not in seen:
        seen.add(name)
        text = locations[name]
        if place := _PLACE.search(text):
            return f"{place['file']}:{place['line']}"
        linked = _LINKED.search(text)
        name = linked[0] if linked else ""
    return ""
