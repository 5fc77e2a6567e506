"""Shares: a few of many things, drawn so that no kind of them is forgotten."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def shared_out(found: Sequence[T], limit: int, seed: str, *, kind: Callable[[T], tuple[str, str]]) -> Iterator[T]:
    """Draw some of many: one of each kind in turn, and within a kind one of each of its sorts in turn.

    Args:
        found: What to draw from.
        limit: How many.
        seed: Of the draw.
        kind: The kind and the sort of an item.
    """
    kinds: dict[str, dict[str, list[T]]] = {}
    for item in random.Random(seed).sample(found, len(found)):
        name, sort = kind(item)
        kinds.setdefault(name, {}).setdefault(sort, []).append(item)
    queues = {name: list(_in_turn(sorts)) for name, sorts in kinds.items()}
    yield from itertools.islice(_in_turn(queues), limit)


def _in_turn(groups: Mapping[str, list[T]]) -> Iterator[T]:
    """One of each group, then the next of each."""
    for row in itertools.zip_longest(*(groups[name] for name in sorted(groups))):
        yield from (item for item in row if item is not None)
