"""Real workers for the tests of the runtime."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.domain.observation import TensorRecord
from kcbench.runtime import Call, Limits, ModelSpec, ScalarArg, TensorArg, WorkerPool, WorkerSession

LIMITS = Limits(call_seconds=20.0, load_seconds=30.0, reserve_seconds=0.0, memory_bytes=1 << 30)
BRIEF = Limits(call_seconds=1.0, load_seconds=1.0, reserve_seconds=0.0, memory_bytes=1 << 30)


@pytest.fixture(scope="session")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(limits=LIMITS) as pool:
        yield pool


@pytest.fixture
def start(pool: WorkerPool) -> Iterator[Callable[..., WorkerSession]]:
    """Opens a session for the body of a forward (``x`` and ``self`` are there), or for a whole file."""
    opened = []

    def open_session(body: str = "return x", *, file: str = "", head: str = "", **options: Any) -> WorkerSession:
        options.setdefault("limits", LIMITS)
        session = pool.open(file or module(body, head=head), **options)
        opened.append(session)
        return session

    yield open_session
    for session in opened:
        session.close()


def module(body: str = "return x", *, head: str = "", init: str = "pass", args: str = "x") -> str:
    """A submission with this forward, constructor and code at import."""
    return "\n".join(
        [
            "import os, sys, time, signal, torch",
            "import torch.nn as nn",
            textwrap.dedent(head),
            "class ModelNew(nn.Module):",
            "    def __init__(self, *init):",
            "        super().__init__()",
            textwrap.indent(textwrap.dedent(init), " " * 8),
            f"    def forward(self, {args}):",
            textwrap.indent(textwrap.dedent(body), " " * 8),
        ]
    )


def ask(
    *values: Tensor | float, layout: str = "contiguous", init: tuple[Any, ...] = (), dtype: str = "float32", **options: Any
) -> Call:
    """A call with these arguments, named a, b, ..."""
    args = tuple(TensorArg(value, layout) if isinstance(value, Tensor) else ScalarArg(value) for value in values)
    names = tuple("abcdefgh"[: len(values)])
    instance = options.pop("instance", "shared")
    return Call(ModelSpec(init, dtype, instance=instance), names, args, **options)


def value(record: TensorRecord) -> Tensor:
    """The tensor that a record holds."""
    dtype = getattr(torch, record.dtype)
    if not record.data:
        return torch.empty(record.shape, dtype=dtype)
    return torch.frombuffer(bytearray(record.data), dtype=dtype).reshape(record.shape)
