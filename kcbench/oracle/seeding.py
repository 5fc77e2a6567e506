"""Torch's global generator, seeded for a while by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_LOCK = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within it, torch's CPU generator starts from a seed; afterwards it is as it was.

    The generator is global to the process and several threads of a run draw from it, so it is held by one at a time.

    Args:
        seed: For the generator's ``manual_seed``.
    """
    with _LOCK, torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed: for a GPU that is not in use yet it notes the whole call stack, each time, and keeps it.
        torch.default_generator.manual_seed(seed)
        yield
