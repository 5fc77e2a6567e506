"""Float64 truth of level1/037_frobenius_norm_repaired: the square of the norm is the product of the flat tensor with itself."""


def forward(x, *, params, init):
    flat = x.reshape(-1)
    return x / flat.dot(flat).sqrt()
