"""Linear attention and state space tasks: parallel forms, decode steps chained, and packed sequences one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.oracle.eager import as_tuple

Draw = Callable[..., Any]
PAIRS = ("gated_linear_attention", "retention", "lightning_attention", "mamba2_ssd", "mamba3_siso", "mamba3_mimo")
SCANS = (*PAIRS, "selective_scan")
STATES = {"selective_scan": ("state",), "mamba3_siso": ("state", "angle", "prev_k"), "mamba3_mimo": ("state", "angle", "prev_k")}
"""Inputs of a decode step that it returns anew; for the others that is the state alone."""


def assert_equal(got: Tensor, want: Tensor) -> None:
    assert got.shape == want.shape
    torch.testing.assert_close(got, want, rtol=1e-11, atol=1e-11 * float(want.abs().max()))


def ratios(log_decay: Tensor) -> Tensor:
    """Decay between all pairs of tokens, from log-decays with time last: [..., t, s], 0 above the diagonal."""
    total = log_decay.cumsum(-1)
    causal = torch.ones(total.shape[-1], total.shape[-1], dtype=torch.bool).tril()
    return (total[..., :, None] - total[..., None, :]).masked_fill(~causal, -math.inf).exp()


def gated_linear_attention(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Tensor:
    decay = ratios(g.permute(0, 2, 3, 1))
    return torch.einsum("bthk,bshk,bhkts,bshv->bthv", q, k, decay, v) / math.sqrt(q.shape[-1])


def retention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    log_decay = (1 - 2.0 ** (-5 - torch.arange(q.shape[2], dtype=q.dtype))).log()
    decay = ratios(log_decay[:, None].expand(-1, q.shape[1]))
    return torch.einsum("bthk,bshk,hts,bshv->bthv", q, k, decay, v) / math.sqrt(q.shape[-1])


def lightning_attention(q: Tensor, k: Tensor, v: Tensor, slope: Tensor) -> Tensor:
    return torch.einsum("bthk,bshk,hts,bshv->bthv", q, k, ratios(-slope[:, None].expand(-1, q.shape[1])), v)


def mamba2_ssd(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    decay = ratios((dt * A).transpose(1, 2))
    B, C = (item.repeat_interleave(x.shape[2] // item.shape[2], dim=2) for item in (B, C))
    return torch.einsum("bthn,bshn,bhts,bsh,bshp->bthp", C, B, decay, dt, x) + D[:, None] * x


def selective_scan(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    decay = ratios(delta[:, :, None] * A[:, :, None])
    return torch.einsum("bnt,bns,bdnts,bds,bds->bdt", C, B, decay, delta, u) + D[:, None] * u


def rotations(angles: Tensor, dt: Tensor, key_dim: int) -> Tensor:
    """One rotation matrix [key_dim, key_dim] per batch entry, token and head, from the angle of all tokens so far."""
    angle = (math.pi * angles.tanh() * dt[..., None]).cumsum(1)
    matrices = torch.eye(key_dim, dtype=angle.dtype).repeat(*angle.shape[:3], 1, 1)
    for i in range(angle.shape[-1]):
        cos, sin = angle[..., i].cos(), angle[..., i].sin()
        turn = torch.stack((torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1)), dim=-2)
        matrices[..., 2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = turn
    return matrices


def trapezoid(adt: Tensor, dt: Tensor, trap: Tensor) -> Tensor:
    """What token s puts into the state that token t reads: [batch, head, t, s]."""
    adt, dt, part = adt.transpose(1, 2), dt.transpose(1, 2), trap.sigmoid().transpose(1, 2)
    weights = ratios(adt) * (part * dt)[..., None, :]
    late = ((1 - part) * dt * adt.exp())[..., None, 1:]
    weights[..., :-1] += ratios(adt)[..., 1:] * late
    return weights


def mamba3_siso(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    adt: Tensor,
    dt: Tensor,
    trap: Tensor,
    q_bias: Tensor,
    k_bias: Tensor,
    angles: Tensor,
    D: Tensor,
) -> Tensor:
    ones = torch.ones(v.shape[2], 1, v.shape[3], dtype=v.dtype)
    several = (item.unsqueeze(-2) for item in (q, k))
    return mamba3_mimo(*several, v, adt, dt, trap, q_bias[:, None], k_bias[:, None], angles, ones, ones, D)


def mamba3_mimo(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    adt: Tensor,
    dt: Tensor,
    trap: Tensor,
    q_bias: Tensor,
    k_bias: Tensor,
    angles: Tensor,
    mimo_v: Tensor,
    mimo_o: Tensor,
    D: Tensor,
) -> Tensor:
    turn = rotations(angles, dt, q.shape[-1])
    query, key = (torch.einsum("bthij,bthrj->bthri", turn, item) for item in (q + q_bias, k + k_bias))
    scores = torch.einsum("bthrk,bshok,bhts->bhtrso", query, key, trapezoid(adt, dt, trap))
    parts = torch.einsum("bshv,hov->bshov", v, mimo_v)
    read = torch.einsum("bhtrso,bshov->bthrv", scores, parts) + D[:, None, None] * parts
    return (mimo_o * read).sum(dim=3)


def at_small_sizes(name: str, draw: Draw, **axes: int) -> Any:
    """A drawn call of a task with 21 tokens, which its parallel form can hold."""
    least = {"key_dim": 16, "value_dim": 16, "head_dim": 16, "state_dim": 16, "num_angles": 4, "num_channels": 3}
    contract = draw(f"level4/{name}").contract
    return draw(f"level4/{name}", axes={key: size for key, size in {**least, **axes}.items() if key in contract.axes})


@pytest.mark.parametrize("name", SCANS)
def test_a_recurrence_equals_its_parallel_form(name: str, draw: Draw) -> None:
    case = at_small_sizes(name, draw, seq_len=21)
    assert_equal(case.truth(), globals()[name](*case.args()))


@pytest.mark.parametrize("name", PAIRS)
def test_packed_sequences_are_sequences(name: str, draw: Draw) -> None:
    packed = at_small_sizes(f"{name}_varlen", draw, total_len=37)
    alone = draw(f"level4/{name}")
    *args, boundaries = packed.args()
    assert boundaries[0] == 0 and boundaries[-1] == 37 and bool((boundaries.diff() > 0).all())
    pieces = []
    for start, end in zip(boundaries[:-1].tolist(), boundaries[1:].tolist(), strict=True):
        own = [item[:, start:end] if item.dim() > 1 and item.shape[:2] == (1, 37) else item for item in args]
        pieces.append(alone.reference.forward(*own, params={}, init=()))
    assert_equal(packed.truth(), torch.cat(pieces, dim=1))


@pytest.mark.parametrize("name", SCANS)
def test_decode_steps_make_a_sequence(name: str, draw: Draw) -> None:
    """From states of zeros, one or two tokens at a time."""
    case, step = at_small_sizes(name, draw, seq_len=9), at_small_sizes(f"{name}_decode", draw)
    given = dict(zip((item.name for item in case.contract.inputs), case.args(), strict=True))
    names = [item.name for item in step.contract.inputs]
    states = STATES.get(name, ("state",))
    batch = case.probe.axes["batch_size"]
    sizes = {**case.probe.axes, "seq_len": 1}
    held = {
        item.name: torch.zeros(step.contract.shape(item, sizes), dtype=torch.float64)
        for item in step.contract.inputs
        if item.name not in given
    }
    time = {item.name: item.shape.index("seq_len") for item in case.contract.inputs if "seq_len" in item.shape}
    outputs, at = [], 0
    for width in (1, 2, 1, 2, 3) if name != "selective_scan" else (1,) * 9:
        own = {key: value.narrow(time[key], at, width) if key in time else value for key, value in given.items()}
        if name == "selective_scan":
            own = {key: value.squeeze(time[key]) if key in time else value for key, value in own.items()}
        out, *new = as_tuple(step.reference.forward(*(({**own, **held})[key] for key in names), params={}, init=()))
        outputs.append(out[..., None] if name == "selective_scan" else out)
        held.update(zip(states, new, strict=True))
        if "prev_v" in held:
            held["prev_v"] = own["v"][:, -1]
        at += width
    assert outputs[0].shape[0] == batch
    assert_equal(torch.cat(outputs, dim=time[case.contract.inputs[0].name]), case.truth())
