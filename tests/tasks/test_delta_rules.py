"""References of the delta rules against one closed form of them all, which takes the tokens at once and keeps no state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.tasks import list_tasks
from tests.tasks.test_references import assert_equal

FAMILIES = ("delta_rule", "gated_delta_rule", "kimi_delta_attention", "rwkv7")
TASKS = [task for task in list_tasks() if task.removeprefix("level4/").startswith(FAMILIES)]


def general_form(inputs: Mapping[str, Tensor]) -> list[Tensor]:
    """The operands r, w, k, v, a, b of S_t = diag(exp(w_t)) S_{t-1} + b_t (S_{t-1}^T a_t)^T + k_t v_t^T and o_t = S_t^T r_t.

    All have the shape [batch, head, time, dim], with as many heads as there are value heads.
    """
    heads = inputs["v"].shape[2]
    x = {
        name: value.repeat_interleave(heads // value.shape[2], dim=2).transpose(1, 2)
        for name, value in inputs.items()
        if name not in ("state", "cu_seqlens")
    }
    if "kappa" in x:
        return [x["r"], x["w"], x["k"], x["v"], -x["kappa"], x["a"] * x["kappa"]]
    decay = x.get("g", torch.zeros_like(x["beta"]))
    decay = (decay if decay.dim() == 4 else decay[..., None]).expand_as(x["k"])
    written = x["beta"][..., None] * x["k"]
    return [x["q"] * x["q"].shape[-1] ** -0.5, decay, written, x["v"], -x["k"] * decay.exp(), written]


def closed_form(state: Tensor, r: Tensor, w: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs of all tokens and the last state, by one triangular solve."""
    after = w.cumsum(2)
    before = after - w
    time = w.shape[2]

    def scores(left: Tensor, level: Tensor, right: Tensor, diagonal: int) -> Tensor:
        """What token j wrote at ``right``, decayed, as token i reads it with ``left``: [batch, head, i, j]."""
        gaps = level[:, :, :, None] - after[:, :, None]
        hidden = torch.ones(time, time, dtype=torch.bool).triu(diagonal + 1)[..., None]
        return (left[:, :, :, None] * gaps.masked_fill(hidden, -torch.inf).exp() * right[:, :, None]).sum(-1)

    read = (a * before.exp()) @ state + scores(a, before, k, -1) @ v
    factor = torch.eye(time, dtype=w.dtype) - scores(a, before, b, -1)
    read = torch.linalg.solve_triangular(factor, read, upper=False, unitriangular=True)
    out = (r * after.exp()) @ state + scores(r, after, k, 0) @ v + scores(r, after, b, 0) @ read
    left = (after[:, :, -1:] - after).exp()
    return out, after[:, :, -1, :, None].exp() * state + (left * k).mT @ v + (left * b).mT @ read


@pytest.mark.parametrize("task_id", TASKS)
def test_it_equals_the_closed_form(task_id: str, draw: Callable[..., Any]) -> None:
    case = draw(task_id)
    inputs = dict(zip(case.inputs, case.args(), strict=True))
    operands = general_form(inputs)
    batch, heads, time, key_dim = operands[2].shape
    state = inputs.get("state", operands[3].new_zeros(batch, heads, key_dim, operands[3].shape[3]))
    bounds = inputs["cu_seqlens"].tolist() if "cu_seqlens" in inputs else [0, time]
    parts = [closed_form(state, *(x[:, :, start:end] for x in operands)) for start, end in pairwise(bounds)]
    want = [torch.cat([out for out, _ in parts], dim=2).transpose(1, 2), parts[-1][1]]
    truths = case.truths()
    assert len(truths) == (2 if "state" in inputs else 1)
    for got, expected in zip(truths, want, strict=False):
        assert_equal(got, expected)


@pytest.mark.parametrize("task_id", [task for task in TASKS if task.endswith("_varlen")])
def test_packed_sequences_are_of_several_lengths_and_none_is_empty(task_id: str, draw: Callable[..., Any]) -> None:
    for axes in ({}, {"total_len": 8, "num_boundaries": 9}, {"num_boundaries": 2}):
        bounds = draw(task_id, axes=axes).inputs["cu_seqlens"].tolist()
        lengths = [end - start for start, end in pairwise(bounds)]
        assert min(lengths) >= 1
        assert sum(lengths) == axes.get("total_len", 70)
        if not axes:
            assert len(set(lengths)) == len(lengths)


@pytest.mark.parametrize("task_id", [task for task in TASKS if task.endswith("_decode")])
def test_tokens_may_come_one_by_one(task_id: str, draw: Callable[..., Any]) -> None:
    """The state that is handed on holds all that later tokens need to know of earlier ones."""
    case = draw(task_id)
    out, last = case.truths()
    *args, state = case.args()
    outputs = []
    for t in range(out.shape[1]):
        now, state = case.reference.forward(*(x[:, t : t + 1] for x in args), state, params={}, init=())
        outputs.append(now)
    assert_equal(torch.cat(outputs, dim=1), out)
    assert_equal(state, last)
