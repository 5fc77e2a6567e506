"""Every formula against the torch operation that it stands for, in float64, and against finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from kcbench import formulas

ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "relu": (formulas.relu, F.relu),
    "clamp": (lambda x: formulas.clamp(x, -2.03, 1.57), lambda x: x.clamp(-2.03, 1.57)),
    "leaky_relu": (lambda x: formulas.leaky_relu(x, 0.2), lambda x: F.leaky_relu(x, 0.2)),
    "sigmoid": (formulas.sigmoid, torch.sigmoid),
    "silu": (formulas.silu, F.silu),
    "softplus": (formulas.softplus, F.softplus),
    "mish": (formulas.mish, F.mish),
    "gelu": (formulas.gelu, F.gelu),
    "gelu_tanh": (formulas.gelu_tanh, lambda x: F.gelu(x, approximate="tanh")),
    "elu": (lambda x: formulas.elu(x, 0.7), lambda x: F.elu(x, 0.7)),
    "hardsigmoid": (formulas.hardsigmoid, F.hardsigmoid),
    "hardswish": (formulas.hardswish, F.hardswish),
}


@pytest.fixture(autouse=True)
def draws() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        yield


def randn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def close(got: Tensor, want: Tensor) -> None:
    assert got.shape == want.shape
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-13 * float(want.detach().abs().max()) if want.numel() else 0.0)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    mine, theirs = ACTIVATIONS[name]
    x = torch.cat([torch.linspace(-40, 40, 801, dtype=torch.float64), randn(50) * 1e-3]).requires_grad_(True)
    want = theirs(x)
    got = mine(x)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-14)
    slopes = [torch.autograd.grad(y.sum(), x)[0] for y in (got, want)]
    inside = (x.detach().abs() - 3).abs().gt(1e-6) & x.detach().ne(0) & x.detach().ne(20)  # kinks
    # torch multiplies hardsigmoid's gradient by a sixth that it rounds to float32.
    tolerance = 1e-7 if name == "hardsigmoid" else 1e-11
    torch.testing.assert_close(slopes[0][inside], slopes[1][inside], rtol=tolerance, atol=1e-12)
    assert bool(mine(torch.tensor([math.nan], dtype=torch.float64)).isnan().all())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    dims=st.integers(1, 3),
    kernel=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    stride=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    padding=st.lists(st.integers(0, 2), min_size=3, max_size=3),
    dilation=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    extra=st.integers(0, 2),
    groups=st.integers(1, 3),
    transposed=st.booleans(),
    bias=st.booleans(),
)
def test_convolutions(
    dims: int,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    extra: int,
    groups: int,
    transposed: bool,
    bias: bool,
) -> None:
    k, s, p, d = (tuple(values[:dims]) for values in (kernel, stride, padding, dilation))
    x = randn(2, 2 * groups, *(7 + dim for dim in range(dims)))
    settings_ = {"stride": s, "padding": p, "dilation": d, "groups": groups}
    outputs = 3 * groups
    b = randn(outputs) if bias else None
    if transposed:
        assume(all(extra < max(a, c) for a, c in zip(s, d, strict=True)))
        settings_["output_padding"] = (extra,) * dims
        w = randn(2 * groups, 3, *k)
        theirs = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
        close(formulas.convolve_transposed(x, w, b, **settings_), theirs(x, w, b, **settings_))
    else:
        assume(all(7 + dim + 2 * p[dim] > d[dim] * (k[dim] - 1) for dim in range(dims)))
        w = randn(outputs, 2, *k)
        close(formulas.convolve(x, w, b, **settings_), (F.conv1d, F.conv2d, F.conv3d)[dims - 1](x, w, b, **settings_))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("size", "stride", "padding", "dilation"), [(2, None, 0, 1), (3, 2, 1, 1), (3, 1, 1, 3)])
def test_pooling(dims: int, size: int, stride: int | None, padding: int, dilation: int) -> None:
    x = randn(2, 3, *(9 + dim for dim in range(dims)))
    largest = formulas.windows(x, size, stride=stride, padding=padding, dilation=dilation, border=-math.inf).amax(-1)
    close(largest, (F.max_pool1d, F.max_pool2d, F.max_pool3d)[dims - 1](x, size, stride, padding, dilation))
    if dilation == 1:
        mean = formulas.windows(x, size, stride=stride, padding=padding).mean(-1)
        close(mean, (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[dims - 1](x, size, stride, padding))
    close(formulas.adaptive_mean(x, 4), (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[dims - 1](x, 4))


def test_normalizations() -> None:
    x, w, b = randn(4, 6, 5, 3) * 3 + 1, randn(6), randn(6)
    mean, variance = randn(6), randn(6).square() + 0.1
    close(formulas.batch_norm(x, w, b), F.batch_norm(x, None, None, w, b, training=True))
    close(formulas.batch_norm(x, w, b, mean=mean, variance=variance, eps=1e-3), F.batch_norm(x, mean, variance, w, b, eps=1e-3))
    close(formulas.instance_norm(x, w, b), F.instance_norm(x, weight=w, bias=b))
    close(formulas.group_norm(x, 3, w, b), F.group_norm(x, 3, w, b))
    w, b = randn(5, 3), randn(5, 3)
    close(formulas.layer_norm(x, 2, w, b), F.layer_norm(x, (5, 3), w, b))


def test_softmax() -> None:
    x = randn(3, 5, 4) * 10
    close(formulas.softmax(x, 1), torch.softmax(x, 1))
    close(formulas.log_softmax(x, 1), torch.log_softmax(x, 1))
    close(formulas.logsumexp(x, 1), torch.logsumexp(x, 1))
    close(formulas.logsumexp(x, -1, keepdim=True), torch.logsumexp(x, -1, keepdim=True))
    low = torch.full((2, 3), -math.inf, dtype=torch.float64)
    assert torch.equal(formulas.logsumexp(low, 1), torch.logsumexp(low, 1))
    assert bool(formulas.softmax(low, 1).isnan().all())


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_recurrent_networks(bidirectional: bool, bias: bool) -> None:
    x, directions = randn(6, 3, 4), 2 if bidirectional else 1
    h, c = randn(2 * directions, 3, 5), randn(2 * directions, 3, 5)
    theirs = nn.LSTM(4, 5, 2, bias=bias, bidirectional=bidirectional).double()
    want, last = theirs(x, (h, c))
    for got, wanted in zip(
        formulas.lstm(x, dict(theirs.named_parameters()), (h, c), layers=2, bidirectional=bidirectional),
        (want, *last),
        strict=True,
    ):
        close(got, wanted)
    other = nn.GRU(4, 5, 2, bias=bias, bidirectional=bidirectional).double()
    for got, wanted in zip(
        formulas.gru(x, dict(other.named_parameters()), h, layers=2, bidirectional=bidirectional), other(x, h), strict=True
    ):
        close(got, wanted)


def test_attention() -> None:
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 7)
    close(formulas.attend(q, k, v), F.scaled_dot_product_attention(q, k, v))
    allowed = torch.ones(5, 6, dtype=torch.bool).tril()
    close(formulas.attend(q, k, v, allowed=allowed, scale=0.3), F.scaled_dot_product_attention(q, k, v, allowed, scale=0.3))
    x = randn(5, 3, 8)
    attention = nn.MultiheadAttention(8, 2).double()
    close(formulas.multihead_attention(x, dict(attention.named_parameters()), heads=2), attention(x, x, x)[0])
    layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0).double()
    close(formulas.transformer_encoder_layer(x, dict(layer.named_parameters()), heads=2), layer(x))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: formulas.convolve(x, x[:2, :, :2, :2], stride=2, padding=1),
        lambda x: formulas.convolve_transposed(x, x.transpose(0, 1)[:3, :, :2, :2], stride=2, padding=1),
        lambda x: formulas.windows(x, 2, stride=1).square().mean(-1),
        lambda x: formulas.group_norm(x, 3),
        lambda x: formulas.batch_norm(x),
        lambda x: formulas.softmax(x, 1),
        lambda x: formulas.logsumexp(x, 2),
        lambda x: formulas.attend(x, x * 2, x + 1),
    ],
)
def test_derivatives(formula: Callable[[Tensor], Tensor]) -> None:
    assert torch.autograd.gradcheck(formula, randn(2, 3, 4, 4).requires_grad_(True))
