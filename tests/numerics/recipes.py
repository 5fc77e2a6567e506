"""An example of every kind of fill, and strategies over them."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import settings
from hypothesis import strategies as st

from kcbench.numerics.fills import FLOATS
from kcbench.numerics.formats import encode

NORMAL = {"kind": "normal"}
EXAMPLES: dict[str, dict[str, Any]] = {
    "normal": {},
    "uniform": {},
    "positive": {},
    "log_decay": {},
    "lognormal": {},
    "logistic": {},
    "constant": {"value": 2.5},
    "sparse": {},
    "ramp": {},
    "integers": {"low": -3, "high": 4},
    "signs": {},
    "index": {"high": 7},
    "unit": {},
    "absorption": {"dim": 0},
    "cancellation": {"dim": -1},
    "fraction": {"bits": 5},
    "eye": {"dims": [0, -1], "at": {}},
    "alternating": {"dim": 0},
    "geometric": {"dim": -1},
    "subnormal": {},
    "away": {"kinks": [0.0, 1.0]},
    "poison": {"base": NORMAL, "at": [], "value": "nan"},
    "permuted": {"base": NORMAL, "dim": 0, "perm": "order"},
}
RECIPES = [{"kind": kind, **options} for kind, options in EXAMPLES.items()]
DTYPES = tuple(FLOATS)

recipes = st.sampled_from(RECIPES)
dtypes = st.sampled_from(DTYPES)
keys = st.one_of(st.text(max_size=12), st.binary(max_size=12))
shapes = st.lists(st.integers(0, 7), max_size=4).map(tuple)
quick = settings(max_examples=60, deadline=None)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and encode(a) == encode(b)
