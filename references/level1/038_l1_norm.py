"""Float64 truth of level1/038_l1_norm: the size of the row is the sum of its magnitudes, by which each entry is divided."""


def forward(x, *, params, init):
    size = (x * x.sign()).sum(dim=1, keepdim=True)
    return x * x.shape[1] / size
