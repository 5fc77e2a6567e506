"""Float64 truth of level1/005_matrix_scalar."""


def forward(A, s, *, params, init):
    return s * A


def magnitude(A, s, *, params, init):
    """The single term."""
    return abs(s) * A.abs()
