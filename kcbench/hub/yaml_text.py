"""YAML text with keys in the order given, for the files that the Hub reads."""

from __future__ import annotations

from typing import Any

from kcbench.errors import MissingExtraError


def yaml_text(data: Any) -> str:
    """Data as block-style YAML with a line break at its end.

    Args:
        data: Mappings, lists, text, numbers, truth values and None.

    Raises:
        MissingExtraError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError("PyYAML", "hub") from error
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))
