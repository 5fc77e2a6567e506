"""Formulas that float64 references are put together from, written out from the mathematics.

None of them calls the torch operation that it stands for, so that a fault of that operation cannot hide in the truth. They are
plain differentiable torch code, spread NaN and infinities as the mathematics does, and make no attempt at speed.
"""

from kcbench.formulas.activation import (
    clamp,
    elu,
    gelu,
    gelu_tanh,
    hardsigmoid,
    hardswish,
    leaky_relu,
    mish,
    relu,
    sigmoid,
    silu,
    softplus,
)
from kcbench.formulas.attention import attend, multihead_attention, transformer_encoder_layer
from kcbench.formulas.convolution import convolve, convolve_transposed
from kcbench.formulas.linear import linear
from kcbench.formulas.normalization import batch_norm, group_norm, instance_norm, layer_norm, standardize
from kcbench.formulas.pooling import adaptive_mean, windows
from kcbench.formulas.recurrent import gru, lstm
from kcbench.formulas.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "adaptive_mean",
    "attend",
    "batch_norm",
    "clamp",
    "convolve",
    "convolve_transposed",
    "elu",
    "gelu",
    "gelu_tanh",
    "group_norm",
    "gru",
    "hardsigmoid",
    "hardswish",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsumexp",
    "lstm",
    "mish",
    "multihead_attention",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "standardize",
    "transformer_encoder_layer",
    "windows",
]
