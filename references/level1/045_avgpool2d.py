"""Float64 truth of level1/045_avgpool2d: every window spread out."""

from kcbench.formulas import windows


def forward(x, *, params, init):
    (size,) = init
    spread = windows(x, size)
    return spread.sum(dim=-1) / spread.shape[-1]


def magnitude(x, *, params, init):
    """The mean of absolute values."""
    return forward(x.abs(), params=params, init=init)
