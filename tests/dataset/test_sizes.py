"""Benchmark sizes, read from source text."""

from __future__ import annotations

import pytest

from kcbench.domain.contract import Input
from kcbench.hub.sizes import benchmark_sizes, shape_line
from kcbench.oracle.module import task_module
from kcbench.tasks import load_task

CODE = """
import torch
batch_size = 16
heads: int = 4
width = 2 * heads * 8 + batch_size // 3
wide = tall = 1 << 20
half = heads / 2
flag = True
share = 0.5
name = "x"
first, second = 1, 2
later = unknown * 2
nothing = heads // 0

def get_inputs():
    inner = 3
    return []
"""


def test_whole_numbers_are_found() -> None:
    assert benchmark_sizes(CODE) == {"batch_size": 16, "heads": 4, "width": 69, "wide": 1 << 20, "tall": 1 << 20}


@pytest.mark.parametrize("code", ["n = 1 << (1 << 30)", "n = 1 << -1", "n = 2 ** 9999", "n = 1 // -1"])
def test_nothing_costly_is_worked_out(code: str) -> None:
    assert benchmark_sizes(code) == {}


@pytest.mark.parametrize("name", ["level1/softmax", "level2/linear_bias_gelu", "level4/gated_delta_rule"])
def test_they_are_the_sizes_that_the_task_has(name: str) -> None:
    task = load_task(name)
    module, sizes = task_module(task, None), benchmark_sizes(task.code)
    assert {axis: getattr(module, axis) for axis in task.contract.axes} == {axis: sizes[axis] for axis in task.contract.axes}


@pytest.mark.parametrize(
    ("item", "line"),
    [
        (Input("x", ("rows", "2*cols", 7)), "x: float[rows=5, 2*cols=6, 7]"),
        (Input("x", ("rows", "unknown")), "x: float[rows=5, unknown]"),
        (Input("target", ("rows",), kind="index", bound="cols"), "target: index[rows=5] < cols=3"),
        (Input("alpha", (), kind="scalar", value=2.0), "alpha: scalar = 2.0"),
    ],
)
def test_shape_line(item: Input, line: str) -> None:
    assert shape_line(item, {"rows": 5, "cols": 3}) == line
