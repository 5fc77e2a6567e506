"""Float64 truth of level2/007_conv3d_relu_leaky_relu_gelu_sigmoid_bias: what ReLU returns, leaky ReLU leaves as it is."""

from kcbench.formulas import convolve, gelu, relu, sigmoid


def forward(x, *, params, init):
    y = relu(convolve(x, params["conv.weight"], params["conv.bias"]))
    return sigmoid(gelu(y)) + params["bias"]
