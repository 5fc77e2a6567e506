"""Float64 truth of level2/099_matmul_gelu_softmax."""

from kcbench.formulas import gelu, linear, softmax


def forward(x, *, params, init):
    return softmax(gelu(linear(x, params["linear.weight"], params["linear.bias"])), 1)
