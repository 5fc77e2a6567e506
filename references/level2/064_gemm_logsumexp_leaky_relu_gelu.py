"""Float64 truth of level2/064_gemm_logsumexp_leaky_relu_gelu: two LeakyReLUs are one whose slope is the product of theirs."""

from kcbench.formulas import gelu, leaky_relu, linear, logsumexp


def forward(x, *, params, init):
    total = logsumexp(linear(x, params["linear.weight"], params["linear.bias"]), 1, keepdim=True)
    return gelu(gelu(leaky_relu(total, 0.01**2)))
