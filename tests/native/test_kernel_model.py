from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from native_kernels.gdn import model
from native_kernels.gdn.cases import MEAN_GATE, Case, as_nan, error, flat, make_case, poisoned, truth
from native_kernels.gdn.members import DELTANET, GDN, GLA, KDA, MEMBERS, SSD, Member
from native_kernels.gdn.rounding import PRESETS, Rounding, rounded

EVERY = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)


def by_model(case: Case, r: Rounding = PRESETS["exact"]) -> dict[str, Tensor]:
    """What the chunkwise model makes of a case of equally long sequences, under the names of :func:`truth`."""
    batch, _, heads, _ = case.v.shape
    group = heads // case.q.shape[2]
    inputs = {name: flat(x.double(), heads) for name, x in case.inputs.items() if name != "state"}
    start = case.state.double().flatten(0, 1)
    arguments = (*(inputs.get(name) for name in ("q", "k", "v", "g", "beta")), start, case.scale)
    out, last = model.forward(case.member, *arguments, r)
    dout, dlast = flat(case.dout.double(), heads), case.dlast.double().flatten(0, 1)
    found = model.backward(case.member, *arguments, dout, dlast, r, group=group)
    results = {"out": out, "q": found.q, "k": found.k, "v": found.v, "g": found.g, "beta": found.beta}
    named = {name: x.unflatten(0, (batch, -1)).transpose(1, 2) for name, x in results.items() if x is not None}
    return named | {name: x.unflatten(0, (batch, heads)) for name, x in (("last", last), ("state", found.state))}


@EVERY
@pytest.mark.parametrize("regime", MEAN_GATE)
def test_the_model_without_rounding_is_the_recurrence(member: Member, regime: str):
    for shape in ((130, 64, 128), (64, 128, 64), (1, 64, 64)):
        case = make_case(member, *shape, batch=2, group=2, regime=regime)
        found, wanted = by_model(case), truth(case)
        assert found.keys() == wanted.keys()
        for name in wanted:
            assert error(found[name], wanted[name]) < 1e-10, (name, shape)


@EVERY
def test_no_tokens_hand_the_state_on(member: Member):
    case = make_case(member, 0)
    found = by_model(case)
    torch.testing.assert_close(found["last"], case.state.double())
    torch.testing.assert_close(found["state"], case.dlast.double())


def test_channel_gates_that_empty_the_state_at_once_stay_exact():
    """Sums of gates beyond -700 have an exponential of 0, and their negative one of infinity: neither may meet."""
    case = make_case(KDA, 100)
    assert case.g is not None
    steep = case.with_tensors(g=case.g * 90)
    found, wanted = by_model(steep), truth(steep)
    for name in wanted:
        assert error(found[name], wanted[name]) < 1e-10, name


@pytest.mark.parametrize("member", [GDN, KDA, GLA, SSD], ids=lambda m: m.name)
def test_minus_infinity_is_a_gate(member: Member):
    case = make_case(member, 70)
    assert case.g is not None
    case.g[0, 20] = -torch.inf
    found, wanted = by_model(case), truth(case)
    for name in wanted:
        assert error(found[name], wanted[name]) < 1e-10, name


def test_the_inverse_is_the_inverse():
    generator = torch.Generator().manual_seed(1)
    lower = torch.randn(3, 64, 64, dtype=torch.float64, generator=generator).tril(-1) * 0.3
    found = model.unit_lower_inverse(lower)
    torch.testing.assert_close(found @ (torch.eye(64) + lower), torch.eye(64, dtype=torch.float64).expand(3, 64, 64))
    assert (found.triu(1) == 0).all()


def test_a_split_value_keeps_sixteen_bits():
    x = torch.tensor([1 + 2**-8 + 2**-15, -3.0e38, 2.0**-100 / 3], dtype=torch.float64)
    assert ((rounded(x, "bf16x2") - x).abs() <= x.abs() * 2**-17).all()
    assert rounded(x, "bf16")[0] == 1 + 2**-7
    assert rounded(x, "none") is x


BARS = {"mid": 3.0e-3, "fast": 3.0e-3, "slow": 3.5e-3, "correlated": 3.5e-3}


@EVERY
def test_rounded_as_the_kernels_do_every_error_is_that_of_the_result(member: Member):
    """Computed operands are kept in two bfloat16 values each, so little but the last rounding is left, 1.7e-3."""
    for regime in MEAN_GATE:
        case = make_case(member, 256, 64, 64, group=2, regime=regime)
        found, wanted = by_model(case, PRESETS["kernel"]), truth(case)
        for name in wanted:
            assert error(found[name], wanted[name]) < 2.0e-3, (name, regime)
            assert error(found[name], wanted[name]) < BARS[regime], (name, regime)


def test_one_bfloat16_value_each_is_not_enough_for_correlated_keys():
    """Why the kernels split computed operands: with one value each, the bar holds at ordinary decay alone."""
    worst = {}
    for regime in ("mid", "correlated"):
        case = make_case(GDN, 256, 128, 64, group=2, regime=regime)
        found, wanted = by_model(case, PRESETS["bf16"]), truth(case)
        worst[regime] = max(error(found[name], wanted[name]) for name in wanted)
    assert worst["mid"] < BARS["mid"]
    assert worst["correlated"] > BARS["correlated"]


def test_float16_operands_err_a_quarter_as_much_where_their_range_allows():
    case = make_case(DELTANET, 256, 64, 64, dtype=torch.float16)
    found, wanted = by_model(case, PRESETS["fp16"]), truth(case)
    assert max(error(found[name], wanted[name]) for name in wanted) < 1.0e-3


@EVERY
def test_what_is_not_finite_reaches_what_the_recurrence_says_and_no_more(member: Member):
    for seed in range(24):
        case = make_case(member, random.Random(seed).choice((66, 130)), seed=seed)
        spoilt, where = poisoned(case, seed)
        found, wanted = by_model(spoilt), truth(as_nan(spoilt))
        for name, truthful in wanted.items():
            lost = ~truthful.isfinite()
            assert torch.equal(~found[name].isfinite(), lost), (name, where)
            torch.testing.assert_close(found[name][~lost], truthful[~lost], rtol=1e-9, atol=1e-9)
