"""Answers that lie: whatever a worker says is checked against itself and against the request."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kcbench.runtime import decode
from kcbench.runtime.worker import frames
from kcbench.runtime.worker.frames import Frame, FrameError
from tests.runtime.conftest import ask

ITEM: frames.Named = ("float32", (2,), bytes(8))
CALL = ask(torch.zeros(2), repeats=2, gradients=("a",), cotangents=(torch.zeros(2),), parameters={"w": torch.zeros(1)})


def honest() -> dict[str, Any]:
    record = {"tensor": 0, "device": "cpu", "stride": [1], "type_name": "Tensor"}
    return {
        "status": "ok",
        "structure": "tensor",
        "outputs": [record],
        "repeats": [frames.digest([ITEM])] * 2,
        "differing": [],
        "gradient_status": "ok",
        "gradients": {"input:a": {**record, "device": "cuda:0"}},
        "aliases": [[0, "input", "a"]],
        "mutated": ["a"],
        "missing": ["w"],
        "peak_bytes": None,
        "host_copies": 3,
    }


def frame(header: dict[str, Any]) -> Frame:
    return Frame({**header, "tensors": [{"dtype": "float32", "shape": [2], "nbytes": 8}]}, (bytearray(8),))


def test_an_honest_answer_becomes_an_observation() -> None:
    seen = decode.observation_of(frame(honest()), CALL, 0.5)
    assert seen.ok and seen.seconds == 0.5 and seen.host_copies == 3 and seen.mutated == ("a",)
    assert seen.gradients["input:a"] is not None and seen.gradients["input:a"].device == "cuda:0"


@pytest.mark.parametrize(
    ("field", "lie"),
    [
        ("status", "PASS"),
        ("status", None),
        ("structure", "other:"),
        ("structure", "dict"),
        ("outputs", [{"tensor": 1, "device": "cpu", "stride": [1], "type_name": "Tensor"}]),
        ("outputs", [{"tensor": 0, "device": "cpu", "stride": [1, 1], "type_name": "Tensor"}]),
        ("outputs", [{"tensor": 0, "device": "../../etc", "stride": [1], "type_name": "Tensor"}]),
        ("outputs", [{"tensor": 0, "device": "cpu", "stride": [1.5], "type_name": "Tensor"}]),
        ("outputs", [{"tensor": 0, "device": "cpu", "stride": [1], "type_name": "T" * 1000}]),
        ("outputs", {}),
        ("repeats", []),
        ("repeats", ["0" * 64] * 2),
        ("repeats", [frames.digest([ITEM])] * 3),
        ("repeats", [frames.digest([ITEM]), "z" * 64]),
        ("differing", [{"tensor": 0, "device": "cpu", "stride": [1], "type_name": "Tensor"}]),
        ("gradient_status", "perfect"),
        ("gradients", {"input:b": None}),
        ("gradients", [None]),
        ("aliases", [[0, "reference", "a"]]),
        ("aliases", [[-1, "input", "a"]]),
        ("aliases", [["0", "input", "a"]]),
        ("mutated", ["z"]),
        ("missing", ["z"]),
        ("peak_bytes", -1),
        ("peak_bytes", True),
        ("peak_bytes", 1.5),
        ("host_copies", "0"),
        ("raised", {"type": "E"}),
        ("raised", "E"),
    ],
)
def test_a_lie_is_refused(field: str, lie: object) -> None:
    with pytest.raises(FrameError):
        decode.observation_of(frame({**honest(), field: lie}), CALL, 0.0)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tensor", "device", "type", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(sorted({*honest(), "raised", "detail"})), JUNK)
def test_junk_in_any_field_is_refused_or_harmless(field: str, junk: object) -> None:
    header = {**honest(), field: junk}
    for read in (
        lambda f: decode.observation_of(f, CALL, 0.0),
        lambda f: decode.failure_of(f, 0.0),
        decode.launches_of,
        decode.extensions_of,
    ):
        try:
            read(frame(header))
        except FrameError:
            continue


@given(JUNK)
def test_metadata_is_numbers_or_refused(junk: object) -> None:
    try:
        found = decode.metadata_of({"n_regs": junk})
    except FrameError:
        return
    values = found["n_regs"] if isinstance(found["n_regs"], list) else [found["n_regs"]]
    assert all(type(value) is int and value >= 0 for value in values)


def test_lone_surrogates_do_not_survive() -> None:
    assert decode.text("\ud800", 5) == "?"
