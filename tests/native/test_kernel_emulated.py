"""The kernels' own source on the CPU emulator, against the recurrence in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from native_kernels.gdn.call import GRADIENTS, PREPARE, REVERSE_SCAN, SCAN, instance_for
from native_kernels.gdn.cases import Case, as_nan, by_kernels, error, make_case, poisoned, truth
from native_kernels.gdn.emulator import EAGER, LATE, RANDOM, Emulator, compiler, needs
from native_kernels.gdn.errors import KernelError
from native_kernels.gdn.functional import chunk_gated_delta_rule, mamba2_ssd
from native_kernels.gdn.members import GDN, GLA, KDA, MEMBERS, SSD, Member

# Slow, for each instance of the kernels is compiled first.
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not compiler(), reason="needs a C++20 compiler (g++ 12 or newer)")]
EVERY = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
STAGES = (PREPARE, SCAN, REVERSE_SCAN, GRADIENTS)
HALF = 2.0e-3
"""Twice what rounding the result to bfloat16 costs at most; measured 1.7e-3."""
FULL = 2.0e-5
"""Of results in float32 that come from operands of 16 bits; measured 6e-6."""


@pytest.fixture(autouse=True)
def emulate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCBENCH_NATIVE_EMULATE", "1")


def emulated(case: Case, schedule: int = EAGER, seed: int = 0) -> dict[str, Tensor]:
    return by_kernels(case, lambda instance: Emulator(instance, schedule, seed))


def check(case: Case, found: dict[str, Tensor], half: float = HALF, full: float = FULL) -> None:
    wanted = truth(case)
    assert found.keys() == wanted.keys()
    for name, truthful in wanted.items():
        assert error(found[name], truthful) < (half if name in ("out", "q", "k", "v") else full), name


@EVERY
def test_each_member_with_a_tail_groups_and_an_initial_state(member: Member):
    case = make_case(member, 130, group=2)
    check(case, emulated(case))


@pytest.mark.parametrize("member", [GDN, KDA, GLA], ids=lambda m: m.name)
@pytest.mark.parametrize("regime", ["slow", "fast", "correlated"])
def test_slow_and_fast_decay_and_correlated_keys(member: Member, regime: str):
    case = make_case(member, 100, regime=regime)
    check(case, emulated(case), full=4e-5)


@pytest.mark.parametrize("member", [GDN, KDA], ids=lambda m: m.name)
def test_packed_sequences_one_of_them_empty(member: Member):
    case = make_case(member, 100, bounds=(0, 30, 30, 100))
    check(case, emulated(case))


@pytest.mark.parametrize("tokens", [1, 16, 64, 65])
def test_lengths_around_a_chunk(tokens: int):
    case = make_case(GDN, tokens, batch=2)
    check(case, emulated(case), full=5e-5)


@pytest.mark.parametrize("member", [GDN, KDA, SSD], ids=lambda m: m.name)
def test_keys_of_128_channels(member: Member):
    case = make_case(member, 70, 128, 128)
    check(case, emulated(case))


@pytest.mark.parametrize("dtype, half, full", [(torch.float16, 3e-4, FULL), (torch.float32, 2e-6, 2e-6)])
def test_other_dtypes_keep_what_they_hold(dtype: torch.dtype, half: float, full: float):
    case = make_case(GDN, 70, dtype=dtype)
    check(case, emulated(case), half, full)


def test_sizes_below_those_of_the_kernels_are_filled_up():
    case = make_case(GDN, 40, 48, 20)
    check(case, emulated(case))


@EVERY
def test_every_schedule_gives_the_same_bits(member: Member):
    case = make_case(member, 70)
    first = emulated(case)
    for schedule, seed in ((EAGER, 0), (LATE, 0), (RANDOM, 1), (RANDOM, 2)):
        again = emulated(case, schedule, seed)
        for name, x in first.items():
            assert torch.equal(again[name], x), (name, schedule, seed)


@EVERY
def test_what_is_not_finite_reaches_what_the_recurrence_says_and_no_more(member: Member):
    for seed in range(8):
        spoilt, where = poisoned(make_case(member, 130, group=1 + seed % 2, seed=seed), seed)
        found, wanted = emulated(spoilt, RANDOM, seed), truth(as_nan(spoilt))
        for name, truthful in wanted.items():
            lost = ~truthful.isfinite()
            assert torch.equal(~found[name].isfinite(), lost), (name, where)
            if not lost.all():
                assert error(found[name][~lost], truthful[~lost]) < 4e-3, (name, where)


@pytest.mark.parametrize("member", [GDN, KDA, GLA], ids=lambda m: m.name)
def test_minus_infinity_is_a_gate(member: Member):
    case = make_case(member, 70)
    assert case.g is not None
    case.g[0, 20] = -torch.inf
    check(case, emulated(case), full=5e-5)


@pytest.mark.parametrize("member, key_dim, gradients", [(GDN, 64, 256), (KDA, 64, 256), (GDN, 128, 512), (KDA, 128, 512)])
def test_the_columns_of_tensor_memory_are_those_of_the_plan(member: Member, key_dim: int, gradients: int):
    instance = instance_for(member, torch.bfloat16, key_dim)
    assert [needs(instance, stage)[1] for stage in STAGES] == [64, 256, 256, gradients]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_every_block_fits_a_multiprocessor(dtype: torch.dtype):
    for member in (GDN, KDA):  # the others need no more
        instance = instance_for(member, dtype, 128)
        for stage in STAGES:
            shared, columns = needs(instance, stage)
            assert shared <= 227 * 1024, (member.name, stage)
            assert columns <= 512, (member.name, stage)


def test_mamba_2_is_the_member_without_delta():
    generator = torch.Generator().manual_seed(3)
    x, b, c = (torch.randn(1, 40, *shape, generator=generator) for shape in ((2, 16), (1, 32), (1, 32)))
    dt, a, d = torch.rand(1, 40, 2, generator=generator), -torch.rand(2, generator=generator), torch.randn(2, generator=generator)
    state, wanted = torch.zeros(2, 16, 32, dtype=torch.float64), []
    for t in range(40):
        step = dt[0, t].double()[:, None, None]
        state = (step * a.double()[:, None, None]).exp() * state + step * x[0, t].double()[:, :, None] * b[0, t].double()
        wanted.append((state @ c[0, t, 0].double()) + d.double()[:, None] * x[0, t].double())
    assert error(mamba2_ssd(x, dt, a, b, c, d), torch.stack(wanted)[None]) < 1e-6


@pytest.mark.parametrize(
    "change, message",
    [
        ({"beta": torch.rand(1, 8, 2)}, "beta"),
        ({"g": None}, "g"),
        ({"v": torch.rand(1, 8, 1, 64)}, "dtypes"),
        ({"cu_seqlens": torch.tensor([0, 9])}, "cu_seqlens"),
        ({"cu_seqlens": torch.tensor([0, 5, 3, 8])}, "cu_seqlens"),
        ({"initial_state": torch.rand(2, 1, 64, 64)}, "initial_state"),
    ],
)
def test_arguments_that_do_not_fit_are_named(change: dict[str, Tensor | None], message: str):
    case = make_case(GDN, 8)
    arguments = {"q": case.q, "k": case.k, "v": case.v, "g": case.g, "beta": case.beta, **change}
    with pytest.raises(KernelError, match=message):
        chunk_gated_delta_rule(**arguments)
