"""What a rule must never change: views, special values, types, global state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kcbench.numerics.stochastic import estimate
from kcbench.numerics.stochastic.mode import NoiseMode
from kcbench.numerics.stochastic.noise import Noise, Phase
from kcbench.numerics.stochastic.precision import Precision
from kcbench.numerics.stochastic.registry import rule
from tests.numerics.stochastic.noisy import U, randn, rms_deviation


def _buffers(x: Tensor) -> Sequence[Tensor]:
    out = torch.zeros(4, 3, dtype=torch.float64)
    for t in range(4):
        out[t] = x[t] * 2 + 1
    out[1:].add_(1).mul_(0.5)
    view = out.view(-1)
    view[2:5].exp_()
    torch.add(out[0], x[1], out=out[3])
    return [out, view, out.t()]


@pytest.mark.parametrize("store", ["float32", "float16"])
def test_views_in_place_and_out(store: str) -> None:
    x = randn(4, 3)
    before = x.clone()
    result = estimate(lambda: _buffers(x), regime="ieee", store=store, seed="views")
    assert torch.equal(x, before)
    for got, want in zip(result.center, _buffers(x), strict=True):
        assert torch.equal(got, want)
    assert torch.equal(result.sigma[0].view(-1), result.sigma[1])
    assert torch.equal(result.sigma[0].t(), result.sigma[2])
    assert (result.sigma[0] > 0).all()


def test_noise_is_written_into_the_tensor_that_the_model_holds() -> None:
    def run() -> Tensor:
        y = torch.ones(100, dtype=torch.float64) * 1.25
        alias = y[:50]
        y.mul_(1.1)
        return alias - y[:50]

    assert not rms_deviation(run).any()


def test_infinities_do_not_become_nan() -> None:
    x = randn(6, 8)
    mask = torch.ones(6, 8, dtype=torch.bool).triu(1)

    def run() -> list[Tensor]:
        scores = (x * 3 + 1).masked_fill(mask, -math.inf) / 2
        return [scores, torch.softmax(scores, -1) @ x.t(), torch.logsumexp(scores, -1), scores.amax(0), scores.sum(-1)]

    for store in ("float32", "float16"):
        result = estimate(run, regime="tf32", store=store, seed="inf")
        for got, want, sigma, lost in zip(result.center, run(), result.sigma, result.ambiguous, strict=True):
            assert torch.equal(got, want)
            assert sigma.isfinite().all()
            assert not lost.any()
            assert not sigma[~want.isfinite()].any()


def test_nan_and_overflow_stay_where_they_are() -> None:
    x = randn(5, 5)
    x[1, 2], x[3, 3] = math.nan, math.inf
    result = estimate(lambda: [x @ x, F.layer_norm(x, (5,)), F.gelu(x)], regime="ieee", store="bfloat16", seed="nan")
    for center, sigma, lost in zip(result.center, result.sigma, result.ambiguous, strict=True):
        assert sigma.isfinite().all()
        assert not lost.any()
        assert not sigma[~center.isfinite()].any()


def test_empty_operands() -> None:
    empty, bias = torch.zeros(3, 0, dtype=torch.float64), randn(4)
    runs = [
        lambda: [empty @ empty.t()],
        lambda: [empty.sum(1), empty.mean(0), F.softmax(empty, 1), torch.addmm(bias, empty, empty.new_zeros(0, 4))],
    ]
    for run in runs:
        result = estimate(run, regime="tf32", store="bfloat16", seed="empty")
        assert [c.shape for c in result.center] == [y.shape for y in run()]


def test_casts_to_narrow_types_keep_the_truth() -> None:
    x = randn(50)
    result = estimate(lambda: [x.float() + 1, x.to(torch.bfloat16).double() * 1.0], regime="ieee", store="float32", seed="cast")
    assert torch.equal(result.center[0], x + 1)
    assert torch.equal(result.center[1], x)
    assert (result.sigma[1].norm() / x.norm()).item() == pytest.approx(0.5 * 2.0**-8, rel=0.2)


def test_random_operations_repeat_and_advance_the_global_generator_once() -> None:
    x = randn(1000)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    result = estimate(
        lambda: [F.dropout(x, 0.5), torch.rand(3, dtype=torch.float64)], regime="ieee", store="float32", seed="drop"
    )
    following = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.equal(result.center[0], F.dropout(x, 0.5))
    # As if it had run once.
    assert torch.equal(result.center[1], torch.rand(3, dtype=torch.float64))
    assert torch.equal(torch.rand(3), following)
    assert not result.ambiguous[0].any()
    kept = result.center[0] != 0
    assert result.sigma[0][kept].mean() < 4 * U * x.abs().mean()
    assert not result.sigma[1].any()


def test_unknown_operations_are_named() -> None:
    x = randn(6, 6)
    spd = x @ x.t() + torch.eye(6, dtype=torch.float64)
    result = estimate(lambda: [torch.linalg.cholesky(spd)], regime="ieee", store="float32", seed="box")
    assert result.blackbox == ("linalg_cholesky_ex",)
    assert (result.sigma[0] > 0).any()
    y = torch.linalg.cholesky(spd.float()).double()
    assert (y - result.center[0]).abs().max() < 8 * result.sigma[0].max()


def test_inference_mode_sees_the_same_operations() -> None:
    x, w, b = randn(4, 7, 5), randn(6, 5, seed=1), randn(6, seed=2)

    def plain() -> list[Tensor]:
        return [F.linear(x, w, b), F.scaled_dot_product_attention(x, x, x)]

    def inference() -> list[Tensor]:
        with torch.inference_mode():
            return plain()

    left, right = (estimate(f, regime="ieee", store="float32", seed="i") for f in (plain, inference))
    assert not left.blackbox
    assert not right.blackbox
    for a, b in zip(left.sigma, right.sigma, strict=True):
        assert torch.allclose(a, b, rtol=0.5)


def test_the_generator_and_the_fast_path_are_left_as_they_were() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=torch.float64).eval()
    x = randn(2, 3, 8)
    state = torch.get_rng_state()

    def run() -> list[Tensor]:
        with torch.no_grad():
            return [layer(x)]

    result = estimate(run, regime="ieee", store="float32", seed="layer")
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.backends.mha.get_fastpath_enabled()
    assert not result.blackbox
    y = layer.float()(x.float())
    assert ((y.double() - result.center[0]).abs() < 8 * result.sigma[0] + U * result.center[0].abs()).all()


def test_two_rules_for_one_operation_are_refused() -> None:
    with pytest.raises(ValueError, match="two rules for mm"):
        rule("mm")(lambda noise, op, *args: op(*args))


@pytest.mark.parametrize(
    "op",
    [
        lambda x: F.softmax(x, 1),
        lambda x: F.log_softmax(x, 0),
        lambda x: F.layer_norm(x, (12,), x[0], x[1]),
        lambda x: F.group_norm(x[None].view(2, 5, 12), 5, x[0, :5], x[1, :5]),
        lambda x: F.batch_norm(x, None, None, x[0], x[1], training=True),
        lambda x: F.batch_norm(x, x[0].detach(), x[1].detach().abs(), x[2], x[3]),
        lambda x: F.rms_norm(x, (12,), x[0]),
        lambda x: F.instance_norm(x[None]),
        *[F.gelu, F.elu, F.celu, F.selu, F.silu, F.mish, F.softplus, F.logsigmoid, F.hardswish, F.hardsigmoid, F.hardtanh],
        *[F.relu6, F.softshrink, F.hardshrink, F.tanhshrink, F.leaky_relu, F.softsign, F.glu],
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: F.softplus(x, 2.0, 1.0),
        lambda x: F.elu(x, 0.3),
        lambda x: torch.logsumexp(x, 1),
        lambda x: F.mse_loss(x, x.flip(0)),
        lambda x: F.smooth_l1_loss(x, x.flip(0)),
        lambda x: F.cross_entropy(x, torch.arange(10)),
        lambda x: F.kl_div(F.log_softmax(x, 1), F.softmax(x.flip(1), 1), reduction="batchmean"),
        lambda x: F.binary_cross_entropy_with_logits(x, x.flip(0).sigmoid()),
        lambda x: F.cosine_similarity(x, x.flip(0)),
        lambda x: F.triplet_margin_loss(x, x.flip(0), x.flip(1)),
        lambda x: F.avg_pool2d(x[None], 3, 2, 1),
        lambda x: F.adaptive_avg_pool2d(x[None], (3, 5)),
        lambda x: F.max_pool2d(x[None], 3, 1),
        lambda x: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
        lambda x: F.conv_transpose2d(x[None, None], x[None, None, :3, :3], stride=2),
        lambda x: F.conv2d(x[None].expand(2, 10, 12)[:, None], x[None, None, :3, :4], padding=1),
        lambda x: torch.cumsum(x, 1) / torch.cumprod(x, 0),
        lambda x: torch.cdist(x, x.flip(1) + 1),
        lambda x: F.normalize(x) @ x.t().pow(3),
        lambda x: torch.einsum("ij,kj->ik", x, x).abs().pow(0.5),
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        lambda x: torch.scatter_add(x, 0, torch.zeros(4, 12, dtype=torch.long), x[:4]),
    ],
)
def test_without_noise_rules_are_what_they_stand_for(op: Callable[[Tensor], Tensor]) -> None:
    """Forward and backward: the recorded run goes through every rule's own formula."""
    x = randn(10, 12).requires_grad_()

    def run() -> list[Tensor]:
        y = op(x)
        return [y.detach(), *torch.autograd.grad(y, x, torch.cos(y.detach()), allow_unused=True)]

    mode = NoiseMode(Noise(Precision.of("ieee", "bfloat16"), "same"))
    mode.begin(Phase.RECORD)
    with mode:
        got = run()
    assert not mode.blackbox or set(mode.blackbox) == {"_cdist_backward"}
    for a, b in zip(got, run(), strict=True):
        # hardsigmoid's gradient: torch itself takes 1/6 in float32.
        assert torch.allclose(a, b, rtol=1e-7 if op is F.hardsigmoid else 1e-11, atol=1e-12)
